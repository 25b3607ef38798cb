// A quick proof that memory limits cannot be met: summed over all ranks, the lightest chain of meeting ranges weighs
// more than all caps together. Says nothing when it does not.
#pragma once

#include "sim/planner/overlap/overlap_graph.h"

namespace tessella {

// False proves that no choice of candidates meets the limits. A stage without a limit weighs nothing, one in several
// counts in each. O(limits + candidates * log layers).
bool may_fit_in_total(const PartitionProblem& problem);

} // namespace tessella
