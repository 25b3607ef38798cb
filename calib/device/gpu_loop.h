// The closed loop on the GPUs of one machine: a thread and a GPU for each rank, kernels of the GPU benches on one
// stream in the order of the plan's program (calib/loop/program.h), the experts' rows by NCCL all-to-all, messages
// between stages by NCCL send and receive on a stream of their own for each channel.
#pragma once

#include <memory>
#include <vector>

#include "calib/loop/validate.h"

namespace tessella::calib {

// A transformer large enough that a GPU is busy: the host's would only measure launches.
LoopModel gpu_loop_model();

// GPUs that this process sees; 0 where there is none, or a build without CUDA.
int gpu_count();

// Throws NoDevice (calib/device/machine.h) when there are fewer GPUs than a plan has ranks.
std::unique_ptr<LoopMachine> gpu_loop(const LoopModel& model, const std::vector<LoopPlan>& plans);

} // namespace tessella::calib
