// Stands in for calib/bench where there is no CUDA compiler.
#include "calib/device/gpu_loop.h"
#include "calib/device/gpu_pair.h"
#include "calib/device/machine.h"

namespace tessella::calib {
namespace {

constexpr const char* kWhy = "this program was built without CUDA: build it where nvcc is, or use --backend host";

} // namespace

std::unique_ptr<Machine> cuda_machine(const CudaPlace&) {
  throw NoDevice(kWhy);
}

std::vector<std::pair<std::string, std::string>> cuda_ops() {
  return {};
}

LoopModel gpu_loop_model() {
  return {};
}

int gpu_count() {
  return 0;
}

std::unique_ptr<LoopMachine> gpu_loop(const LoopModel&, const std::vector<LoopPlan>&) {
  throw NoDevice(kWhy);
}

PairResult run_gpu_pair(const PairSpec&, int) {
  throw NoDevice(kWhy);
}

} // namespace tessella::calib
