// Kernel names -> classes: the first row with a word that the name contains decides.
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "calib/import/kineto.h"

namespace tessella::calib {
namespace {

using Row = std::pair<std::string_view, KernelClass>;

constexpr auto kWords = std::to_array<Row>({
    // Communication before everything else: its names hold words such as "copy" and "reduce".
    {"notify", KernelClass::waiting},
    {"barrier", KernelClass::waiting},
    {"ep::intranode", KernelClass::expert_communication},
    {"ep::internode", KernelClass::expert_communication},
    {"deep_ep", KernelClass::expert_communication},
    {"hybrid_ep", KernelClass::expert_communication},
    {"hybridep", KernelClass::expert_communication},
    {"nccldevkernel_sendrecv", KernelClass::expert_communication},
    {"ncclkernel_sendrecv", KernelClass::expert_communication},
    {"alltoall", KernelClass::expert_communication},
    {"nccl", KernelClass::collective},
    {"nvshmem", KernelClass::collective},
    {"memcpy", KernelClass::copy},
    {"memset", KernelClass::copy},
    {"flash", KernelClass::attention},
    {"fmha", KernelClass::attention},
    {"attention", KernelClass::attention},
    {"_attn", KernelClass::attention},
    {"sdpa", KernelClass::attention},
    {"grouped", KernelClass::grouped_gemm},
    {"group_gemm", KernelClass::grouped_gemm},
    {"gemm", KernelClass::gemm},
    {"nvjet", KernelClass::gemm},
    {"cutlass", KernelClass::gemm},
    {"xmma", KernelClass::gemm},
    {"matmul", KernelClass::gemm},
    {"ln_fwd", KernelClass::norm},
    {"ln_bwd", KernelClass::norm},
    {"norm", KernelClass::norm},
    {"topk", KernelClass::router},
    {"softmax", KernelClass::router},
    {"router", KernelClass::router},
    {"permute", KernelClass::permute},
    {"gather", KernelClass::permute},
    {"scatter", KernelClass::permute},
    {"sort", KernelClass::permute},
    {"index", KernelClass::permute},
    {"swiglu", KernelClass::activation},
    {"silu", KernelClass::activation},
    {"gelu", KernelClass::activation},
    {"cast", KernelClass::cast},
    {"quantize", KernelClass::cast},
    {"transpose", KernelClass::cast},
    {"adam", KernelClass::optimizer},
    {"multi_tensor", KernelClass::optimizer},
    {"elementwise", KernelClass::elementwise},
    {"copy", KernelClass::copy},
    {"triton_poi", KernelClass::elementwise},
    {"triton_red", KernelClass::norm},
    {"triton_per", KernelClass::norm},
    {"reduce", KernelClass::elementwise},
    {"fill", KernelClass::elementwise},
    {"rope", KernelClass::elementwise},
    {"rotary", KernelClass::elementwise},
});

constexpr std::array<const char*, kKernelClasses> kNames = {
    "gemm",       "grouped_gemm", "attention",   "norm",      "activation", "permute",
    "router",     "cast",         "elementwise", "optimizer", "copy",       "expert_communication",
    "collective", "waiting",      "other"};

} // namespace

const char* name(KernelClass c) {
  return kNames[static_cast<std::size_t>(c)];
}

bool is_communication(KernelClass c) {
  return c == KernelClass::expert_communication || c == KernelClass::collective || c == KernelClass::waiting;
}

KernelClass class_of(const std::string& kernel) {
  std::string lower = kernel;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const auto& [word, c] : kWords)
    if (lower.find(word) != std::string::npos) return c;
  return KernelClass::other;
}

} // namespace tessella::calib
