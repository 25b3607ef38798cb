// The order of every pair of a step: the given one where the scenario has one for such chunks, the scheduler's for the
// others. What is found here is what sim/exec runs and what a plan.yaml keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/domain/plan_file.h"
#include "sim/exec/pair_order.h"
#include "sim/ledger/result.h"
#include "sim/planner/overlap/cost_table.h"
#include "sim/planner/overlap/pair_chunks.h"

namespace tessella {

// A given order that cannot run: which of the scenario's, and why.
struct GivenOrderProblem {
  std::size_t order = 0;
  OrderProblem problem;
};

// A given order is tried on every pair of the schedule with its chunks' names, or on every pair with its tasks when it
// has no names; then it must fit at least one. Nothing when all given orders that are for a pair of this schedule fit.
std::optional<GivenOrderProblem> check_given_orders(const OverlapSpec& overlap, const ChunkLibrary& chunks,
                                                    const Partition& partition, const Schedule& schedule);

// The given order that is for this pair, the last of several; null: none is.
const PairOrder* given_order(const OverlapSpec& overlap, const ChunkLibrary& chunks, const ChunkPair& pair);

struct StepPairs {
  PairPlans plans;               // for lower()
  std::vector<PairOrder> orders; // of the distinct pairs, by the names of their chunks; with their costs
  PairUse use;                   // for reports
};

// Equal pairs are ordered once, on up to `threads` threads; the result does not depend on how many. The given orders
// must have no problem; `align` holds the constants of the list schedulers.
StepPairs order_pairs(const OverlapSpec& overlap, const ChunkLibrary& chunks, const Partition& partition,
                      const Schedule& schedule, unsigned threads, const AlignRule& align = {});

// What the orders depend on, for plans: SHA-256 of all costs of the library.
std::string costs_hash(const ChunkLibrary& chunks);

} // namespace tessella
