// Plans of the closed loop in one line, named after their schedule.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calib/loop/plan.h"

namespace tessella::calib {

inline LoopPlan plan_of(const std::string& schedule, int pp, int ep, int micro_batches, std::vector<int> layers) {
  LoopPlan p;
  p.name = schedule;
  p.schedule = schedule;
  p.pp = pp;
  p.ep = ep;
  p.micro_batches = micro_batches;
  p.layers = std::move(layers);
  return p;
}

} // namespace tessella::calib
