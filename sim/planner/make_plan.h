// The planner: which layers each stage should hold under the scenario's schedule, with the baselines next to it and a
// certificate. The steps, each in a file of its own:
//
//   overlap graph -> candidate ranges around the serial-balanced baseline -> exact smallest bottleneck edge, evened out
//   -> exact smallest sum of the busiest rank's edges, none dearer than the baseline's bottleneck
//   -> simulate both and all baselines -> refine the fastest on simulated step time -> lower bound and gap
//
// Both objectives are only surrogates: warm-up, cool-down, memory and routing decide too, hence the refinement. The
// plan is never slower than a baseline that fits, because those are among what it chooses from.
#pragma once

#include <cstdint>
#include <string>

#include "sim/domain/plan_file.h"
#include "sim/domain/scenario.h"
#include "sim/planner/overlap/overlap_list.h"

namespace tessella {

struct PlanOptions {
  std::int32_t radius = 2;        // how far a boundary may move from the baseline, in layers
  bool reference_milp = false;    // solve with CBC instead of the threshold search
  std::int32_t refine_rounds = 8; // moves of one layer, each the best of several simulated
  AlignRule align;                // constants of the list schedulers, if the scenario's overlap scheduler is one
  unsigned threads = 1;           // results do not depend on it
  std::string pair_costs;         // CSV that keeps the cost of pairs from run to run; empty: none
  bool explain = false;           // also simulate what one more unit of each resource buys
  bool operator==(const PlanOptions&) const = default;
};

// Throws InfeasiblePlan when no partition it looked at fits, with the rank, by how much, and what would help;
// NotCovered when the profile lacks a cost. The scenario's profile has real kernel costs (not a uniform_stage).
PlanFile make_plan(const Scenario& scenario, const PlanOptions& options = {});

} // namespace tessella
