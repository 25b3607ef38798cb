// What every GPU bench needs: the GPU, a stream to launch on, cuBLASLt and its workspace.
#pragma once

#include <cstddef>

#include "calib/device/device_memory.h"

namespace tessella::calib {

class GpuContext {
 public:
  explicit GpuContext(int device);
  ~GpuContext();
  GpuContext(const GpuContext&) = delete;
  GpuContext& operator=(const GpuContext&) = delete;

  const cudaDeviceProp& gpu() const { return properties_; }
  int sms() const { return properties_.multiProcessorCount; }
  const Stream& stream() const { return stream_; }
  cublasLtHandle_t blas() const { return blas_; }
  void* workspace() const { return workspace_.get(); }
  std::size_t workspace_bytes() const { return workspace_.bytes(); }

 private:
  cudaDeviceProp properties_{};
  Stream stream_;
  cublasLtHandle_t blas_ = nullptr;
  DeviceMemory workspace_;
};

} // namespace tessella::calib
