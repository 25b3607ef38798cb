// What would help? The plan simulated again with a little more of one resource at a time.
#pragma once

#include <vector>

#include "sim/domain/plan_file.h"
#include "sim/domain/scenario.h"

namespace tessella {

// Fabric links or scale-up links 10 % faster; twice the micro-batches (time per the former number of samples); the best
// move of one layer between neighbouring stages; memory enough to recompute nothing. A simulation each, of the moves
// O(stages), on up to `threads` threads.
std::vector<PlanWhatIf> what_ifs(const Scenario& scenario, const Partition& partition, unsigned threads);

} // namespace tessella
