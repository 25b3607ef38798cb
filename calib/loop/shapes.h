// Which kernels and collectives the plans run, at which shapes and how often: what must be measured before a step can
// be simulated, and no more.
#pragma once

#include <vector>

#include "calib/loop/plan.h"
#include "calib/protocol/op_case.h"

namespace tessella::calib {

struct LoopShape {
  OpShape shape;
  double count = 0.0; // how often it runs, over all ranks and plans
};

// Distinct shapes, sorted; kernels of calib/host/cases.h and collectives of calib/host/measure_ranks.h.
std::vector<LoopShape> loop_shapes(const LoopModel& model, const std::vector<LoopPlan>& plans);

} // namespace tessella::calib
