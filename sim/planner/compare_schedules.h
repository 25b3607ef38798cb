// The same training step under several schedules: equal devices or equal stages.
#pragma once

#include <span>
#include <string>

#include "sim/domain/scenario.h"
#include "sim/domain/schedule_comparison.h"
#include "sim/exec/run.h"

namespace tessella {

// Names of the schedule table or aliases; one that cannot run in this scenario has a row that says why. A combined
// schedule turns overlap_moe_expert_parallel_comm on, any other turns it and delayed weight gradients off. Throws
// InputError for an unknown name. One simulation per name.
ScheduleComparison compare_schedules(const Scenario& scenario, std::span<const std::string> names,
                                     ComparisonBasis basis, const RunOptions& options);

} // namespace tessella
