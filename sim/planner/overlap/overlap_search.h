// The best order of a pair with movable tasks: branch and bound over the states of both lanes, in time order.
//
// Whenever a lane is free it may take any task that is ready, or stay idle for one that will be; every order of the
// lanes is reached in exactly one way. States are kept by level (tasks started plus tasks ended); two equal states of a
// level differ in nothing but when they were reached, so the later one is dropped, which loses nothing. A state whose
// time plus bound (overlap_bound.h) is not below the best order known is dropped too.
//
// Levels can be wide, so there are several passes, each keeping the most promising states of a level: 16, then 256, and
// so on. A pass that had to leave nothing out has proven its result; otherwise what was left out gives a lower bound.
// The result depends on the node limit alone, unless a time limit strikes.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/planner/overlap/overlap_bound.h"
#include "sim/planner/overlap/overlap_timeline.h"

namespace tessella {

struct SearchLimits {
  std::int64_t nodes = 2'000'000;
  std::optional<double> seconds;
};

struct SearchOutcome {
  std::optional<LaneOrders> order; // better than what was known; nothing: none was found
  Duration lower_bound;            // no order ends earlier
  bool complete = false;           // there is no better order
  std::int64_t nodes = 0;
};

// `known` is the makespan of the best order known. Memory: about 100 bytes per state of the widest level.
SearchOutcome search_orders(const PairProblem& problem, const SearchJobs& jobs, const OrderBound& bound, Duration known,
                            const SearchLimits& limits);

} // namespace tessella
