// The overlap-aware partition problem as Tessera's MILP, solved by CBC: the reference for solve_exact().
//
//   min T   sum_c y[s,c] = 1                              every stage s
//           sum_d z[e,c,d] = y[f,c],  sum_c z[e,c,d] = y[b,d]   every edge e = (f, b)
//           T >= sum_{c,d} cost[e,c,d] z[e,c,d]           every edge
//           sum_{c ends at j} y[s,c] = sum_{d begins at j} y[s+1,d]   every boundary and place j: contiguity
//           sum load y <= cap                             every memory limit
// y is binary; z may be continuous, because whole y leave it no choice. A self-loop needs no z.
// Costs are scaled to their largest, so an optimum within 1e-9 of ours is the same edge.
//
// Source: Tessera (OSDI '26), equation (1); science/planning, section 5.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/planner/partition/partition_exact.h"

namespace tessella {

// False where Tessella was built without CBC; then solve_milp() must not be called.
bool has_milp();

struct MilpSize {
  std::int64_t variables = 0;
  std::int64_t constraints = 0;
  bool operator==(const MilpSize&) const = default;
};
MilpSize milp_size(const PartitionProblem& problem);

// Nothing when it is infeasible. Stops after `seconds`; the lower bound then is CBC's.
std::optional<PartitionSolution> solve_milp(const PartitionProblem& problem, double seconds = 300.0);

} // namespace tessella
