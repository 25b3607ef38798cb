#include "calib/device/gpu_context.h"

namespace tessella::calib {
namespace {

constexpr std::size_t kWorkspace = std::size_t{64} << 20; // cuBLAS asks for 32 MiB on Hopper

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp p{};
  CALIB_CUDA(cudaSetDevice(device)); // before the stream is made
  CALIB_CUDA(cudaGetDeviceProperties(&p, device));
  return p;
}

} // namespace

GpuContext::GpuContext(int device) : properties_(properties_of(device)), workspace_(kWorkspace) {
  CALIB_CUDA(cublasLtCreate(&blas_));
}

GpuContext::~GpuContext() {
  CALIB_CUDA_NOEXCEPT(cublasLtDestroy(blas_));
}

} // namespace tessella::calib
