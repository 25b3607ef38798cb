// A lower bound on the step time of any partition that leaves no stage empty, for schedules with any number of chunks.
//
// Of the slots of a pipeline rank take a window, from its first slot or its first backward to its last slot or its last
// forward. No slot of the window can begin before a chain of actions has run, and after it another chain must:
//   first slot      forwards of all stages below             last slot     backwards of all stages below
//   first backward  all forwards, backwards of those above   last forward  forwards above, all backwards
// so                step >= X = chain before + work of the window + chain after
// for every window, and therefore for any weights w >= 0 over the windows of all ranks that sum to 1
//                   step >= min over partitions of sum w X
// whose right side adds up over stages: a shortest path, O(stages * layers). The weights are searched for by
// multiplicative updates; each of them gives a valid bound, the largest counts.
//
// Work: a single action takes its chain; a pair takes its compute lane plus what its exchanges must cost it there. By
// linear programming duality an exchange beside kernels that slow by factors f costs, for any price q in [0, 1], at
// least   q * exchange - sum over kernels (q - (1 - 1/f))+ * f * duration.
// A weight gradient that may run beside the chain after a window is left out. A bubble filler moves others too: with
// one this bounds the static plan only.
//
// Sources: science/planning, section 7.1 (heads, bodies and tails); own derivation of windows, weights and prices.
#pragma once

#include "sim/cost/layer_ops.h"
#include "sim/domain/scenario.h"
#include "sim/domain/schedule.h"

namespace tessella {

// Without what comes after the pipeline. Nothing (zero) when there are fewer layers than stages. Uniform profiles have
// no costs to bound. O(prices * rounds * stages * (layers + windows)).
Duration weighted_bound(const Scenario& scenario, const Schedule& schedule, const ModelOps& ops, Duration p2p_flight);

} // namespace tessella
