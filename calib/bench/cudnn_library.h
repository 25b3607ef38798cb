// cuDNN, loaded when it is there: the program neither links it nor needs it to start. Only the backend interface is
// used, whose functions have kept their form since cuDNN 8; descriptors are those of the headers it was built with.
#pragma once

#include <cudnn_graph.h>

#include <memory>
#include <string>

#include "calib/bench/cudnn_attention.h"

namespace tessella::calib {

// The functions of one loaded library. It stays loaded until the process ends: its parts register with the driver.
class CudnnLibrary {
 public:
  // Throws NoFusedKernel with what is missing, or when the library is of another major version than the headers.
  CudnnLibrary();

  decltype(&cudnnGetVersion) get_version = nullptr;
  decltype(&cudnnGetErrorString) error_string = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;

  std::string version() const; // "9.19.0"
  // Throws OutOfMemory for a failed allocation, NoFusedKernel for everything else.
  void check(cudnnStatus_t status, const char* what) const;
};

// A handle bound to a stream of the current GPU.
class CudnnHandle {
 public:
  CudnnHandle(std::shared_ptr<const CudnnLibrary> library, cudaStream_t stream);
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;
  cudnnHandle_t get() const { return handle_; }

 private:
  std::shared_ptr<const CudnnLibrary> library_;
  cudnnHandle_t handle_ = nullptr;
};

} // namespace tessella::calib
