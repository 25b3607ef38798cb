// Who is slowed down by what, as factors on durations (planner/over_time.h).
#pragma once

#include <array>
#include <vector>

#include "sim/domain/pair_plan.h"
#include "sim/domain/scenario.h"
#include "sim/exec/program.h"

namespace tessella {

using Factors = std::array<double, Handicap::kParts>;

// How much longer each kind of collective takes in `slow` than in `healthy`: the same program costed on two clusters.
// Compute is never slower.
Factors factors_between(const Program& healthy, const Program& slow, std::int64_t balanced_rows);

// Ascending by rank; factors of one rank multiply. `healthy` is the scenario's own program, its pairs in
// the orders `pairs`.
std::vector<Handicap> handicaps_of(const Scenario& scenario, const std::vector<WhatIf>& events, const Program& healthy,
                                   const PairPlans& pairs);

} // namespace tessella
