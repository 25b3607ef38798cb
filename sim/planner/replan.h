// When the profile no longer holds: watching stage times, and a plan made anew under what now holds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/domain/adaptation.h"
#include "sim/domain/plan.h"
#include "sim/exec/records.h"

namespace tessella {

// Observed over planned, minus 1.
double stage_error(const StepRecord& step, Duration planned);

// The last `patience` steps all missed the plan by more than the tolerance.
bool should_replan(const ReplanSpec& spec, const std::vector<StepRecord>& steps, Duration planned);

struct NewPlan {
  Partition partition;
  StepRecord step; // simulated with it
};
// Layers move one at a time to another stage while the best such move makes the step shorter, at most four times;
// `one_step` simulates a step with a partition, or returns nothing when it is not allowed.
// O(stages^2) simulations per move.
NewPlan better_partition(const Partition& start,
                         const std::function<std::optional<StepRecord>(const Partition&)>& one_step);

} // namespace tessella
