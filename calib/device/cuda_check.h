// Every CUDA, cuBLAS and NCCL call is checked: CALIB_CUDA(cudaMemcpy(...)) throws with file, line and the call's own
// text. Out of memory is its own type, because a run goes on after it. Destructors use the _NOEXCEPT twin.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <stdexcept>
#include <string>

#include "calib/protocol/op_case.h"

namespace tessella::calib {

class DeviceError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] inline void device_failed(const std::string& error, const char* call, const char* file, int line) {
  throw DeviceError(std::string(file) + ":" + std::to_string(line) + ": " + error + " in " + call);
}

inline void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  cudaGetLastError(); // leaves no error behind for the next check, where that is possible at all
  if (status == cudaErrorMemoryAllocation) throw OutOfMemory(std::string("the GPU has not enough memory for ") + call);
  device_failed(cudaGetErrorString(status), call, file, line);
}

inline void check(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfMemory(std::string("the GPU has not enough memory for ") + call);
  device_failed(cublasLtGetStatusString(status), call, file, line);
}

inline void check(ncclResult_t status, const char* call, const char* file, int line) {
  if (status == ncclSuccess || status == ncclInProgress) return;
  device_failed(ncclGetErrorString(status), call, file, line);
}

} // namespace tessella::calib

#define CALIB_CUDA(call) ::tessella::calib::check((call), #call, __FILE__, __LINE__)
#define CALIB_CUDA_NOEXCEPT(call) static_cast<void>(call)
// After a kernel launch.
#define CALIB_LAUNCHED(kernel) ::tessella::calib::check(cudaGetLastError(), "launch of " #kernel, __FILE__, __LINE__)
