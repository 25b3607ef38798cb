// Whether cuDNN takes the graphs of attention, asked of cuDNN itself for an H200 that is only described. Without a GPU
// a plan comes as far as compiling its kernel: loading it needs a driver, and the toolkit's stand-in for one says no.
// That the kernel computes attention is for tests/gpu to find out.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <string>

#include "calib/bench/cudnn_attention.h"

using namespace tessella::calib;

namespace {

// As cuDNN itself writes it, with the properties of an H200 (CUDA's programming guide, compute capability 9.0; NVIDIA's
// data sheet).
constexpr const char* kH200 =
    R"({"deviceVer":900,"driverVer":13000,"cudaDeviceId":0,"maxGridSize":[2147483647,65535,65535],)"
    R"("maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,)"
    R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,)"
    R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)"
    R"("pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,"memClockRateKHz":3201000,)"
    R"("l2CacheSize":62914560,"deviceName":"NVIDIA H200","totalGlobalMem":150754820096})";

// "plan", or why there is none.
std::string answer(const SoftmaxDims& dims, AttentionPass pass) {
  try {
    const CudnnAttention plan(dims, pass, std::string(kH200));
    CHECK(plan.workspace_bytes() < (std::size_t{16} << 30));
    return "plan";
  } catch (const NoFusedKernel& none) {
    return none.what();
  }
}

// A plan, or one that lacks nothing but a driver.
bool taken(const SoftmaxDims& dims, AttentionPass pass) {
  const std::string said = answer(dims, pass);
  INFO(said);
  return said == "plan" || said.find("EXECUTION_FAILED_CUDA_DRIVER") != std::string::npos;
}

// The driver, or the toolkit's stand-in under the driver's name; cuDNN finds what is loaded.
bool driver_loaded() {
  return ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr ||
         ::dlopen(TESSELLA_CUDA_STUB, RTLD_NOW | RTLD_GLOBAL) != nullptr;
}

} // namespace

TEST_CASE("cuDNN has a kernel for the attention of the models, forward and backward") {
  if (!fused_attention_text().starts_with("cuDNN") || !driver_loaded()) {
    MESSAGE("skipped: " << fused_attention_text());
    return;
  }
  const SoftmaxDims qwen3_235b{1, 4096, 64, 4, 128, 128};
  const SoftmaxDims qwen3_next{1, 4096, 16, 2, 256, 256};
  const SoftmaxDims deepseek_v3{1, 4096, 128, 128, 192, 128};
  CHECK(taken(qwen3_235b, AttentionPass::forward));
  CHECK(taken(qwen3_235b, AttentionPass::backward));
  CHECK(taken(qwen3_next, AttentionPass::backward));
  CHECK(taken(deepseek_v3, AttentionPass::backward));
}

TEST_CASE("What cuDNN has no kernel for is said, not run") {
  if (!fused_attention_text().starts_with("cuDNN") || !driver_loaded()) return;
  const SoftmaxDims odd_head{1, 512, 8, 8, 257, 257}; // no multiple of 8
  CHECK_FALSE(taken(odd_head, AttentionPass::forward));
  CHECK_FALSE(taken(odd_head, AttentionPass::backward));
}
