// The order of actions on each pipeline rank, written from the definition of the schedules (Narayanan et al. 2021) and
// independent of the simulator's generators: that both agree is part of what the closed loop shows.
#pragma once

#include <vector>

#include "calib/loop/plan.h"
#include "sim/domain/schedule.h"

namespace tessella::calib {

// [pp rank] -> actions. Throws InputError for a schedule the loop cannot run, or micro-batches it cannot divide.
std::vector<std::vector<Action>> order_of(const LoopPlan& plan);

} // namespace tessella::calib
