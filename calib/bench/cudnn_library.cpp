#include "calib/bench/cudnn_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "calib/protocol/op_case.h"

namespace tessella::calib {
namespace {

constexpr std::size_t kOldest = 90600; // from here on it clears its own accumulators

template <class Function>
void load(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) throw NoFusedKernel(fmt::format("cuDNN on this machine has no function {}", name));
}

} // namespace

CudnnLibrary::CudnnLibrary() {
  const std::string name = fmt::format("libcudnn.so.{}", CUDNN_MAJOR);
  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw NoFusedKernel(fmt::format("this machine has no {}", name));
  load(library, get_version, "cudnnGetVersion");
  load(library, error_string, "cudnnGetErrorString");
  load(library, create, "cudnnCreate");
  load(library, destroy, "cudnnDestroy");
  load(library, set_stream, "cudnnSetStream");
  load(library, create_descriptor, "cudnnBackendCreateDescriptor");
  load(library, destroy_descriptor, "cudnnBackendDestroyDescriptor");
  load(library, set_attribute, "cudnnBackendSetAttribute");
  load(library, get_attribute, "cudnnBackendGetAttribute");
  load(library, finalize, "cudnnBackendFinalize");
  load(library, execute, "cudnnBackendExecute");
  if (get_version() < kOldest || get_version() / 10'000 != CUDNN_MAJOR)
    throw NoFusedKernel(fmt::format("cuDNN {} is not between 9.6 and the end of version {}", version(), CUDNN_MAJOR));
}

std::string CudnnLibrary::version() const {
  const std::size_t v = get_version();
  return fmt::format("{}.{}.{}", v / 10'000, v / 100 % 100, v % 100);
}

void CudnnLibrary::check(cudnnStatus_t status, const char* what) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string text = fmt::format("cuDNN {}: {} in {}", version(), error_string(status), what);
  if (status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
    throw OutOfMemory(text);
  throw NoFusedKernel(text);
}

CudnnHandle::CudnnHandle(std::shared_ptr<const CudnnLibrary> library, cudaStream_t stream)
    : library_(std::move(library)) {
  library_->check(library_->create(&handle_), "creating a handle");
  const cudnnStatus_t status = library_->set_stream(handle_, stream);
  if (status == CUDNN_STATUS_SUCCESS) return;
  library_->destroy(handle_); // the destructor does not run for what throws here
  library_->check(status, "setting the stream");
}

CudnnHandle::~CudnnHandle() {
  library_->destroy(handle_);
}

} // namespace tessella::calib
