// Stands in for calib/bench where there is no CUDA compiler.
#include "calib/device/machine.h"

namespace tessella::calib {

std::unique_ptr<Machine> cuda_machine(const CudaPlace&) {
  throw NoDevice("this program was built without CUDA: build it where nvcc is, or use --backend host");
}

std::vector<std::pair<std::string, std::string>> cuda_ops() {
  return {};
}

} // namespace tessella::calib
