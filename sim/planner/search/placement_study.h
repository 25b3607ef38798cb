// Expert placements of every MoE layer of a load table next to each other: how uneven each leaves the GPUs, how far
// that is from the best possible, and whether moving there pays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/domain/placement_row.h"
#include "sim/domain/plan_file.h"
#include "sim/domain/scenario.h"
#include "sim/planner/search/expert_placement.h"

namespace tessella {

// Tokens per expert, [MoE layer][expert], any positive scale.
using LoadTable = std::vector<std::vector<double>>;

// Expected shares of a scenario's routing, mean over its steps. Tokens that are known per EP rank only are spread
// evenly over the rank's experts.
LoadTable load_table(const Scenario& scenario);
// Mean over the iterations of a trace whose columns are experts.
LoadTable load_table(const RoutingTrace& trace);

// check_eplb(shape) must be nothing for the number of experts. O(layers * swaps * slots^2).
std::vector<PlacementRow> study_placements(const LoadTable& loads, const EplbShape& shape, std::int32_t max_swaps);

// The migrated placement of every MoE layer under the scenario's own routing, for a plan file. Throws InputError when
// the routing is balanced: then there is nothing to gain.
PlanExperts migrated_experts(const Scenario& scenario, std::int32_t max_swaps);
// The same with EPLB's placement over `slots` slots of an EP group, more than there are experts: the busiest experts
// have replicas. Throws InputError also for a number of slots that EPLB cannot spread.
PlanExperts replicated_experts(const Scenario& scenario, std::int32_t slots);

// The step under the routing that a placement leaves each rank with, against the contiguous one, by simulation: every
// layer with its own placement, loads at their mean over the steps. One placement per MoE layer, ep GPUs each.
struct PlacementGain {
  Duration contiguous; // step times
  Duration placed;
  bool operator==(const PlacementGain&) const = default;
};
PlacementGain simulate_placements(const Scenario& scenario, const LoadTable& loads,
                                  std::span<const ExpertPlacement> placements, unsigned threads);

} // namespace tessella
