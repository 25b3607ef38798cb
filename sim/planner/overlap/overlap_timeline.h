// When the tasks of a pair run in a given order, and the list schedulers' and searches' way from orders to results.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "sim/planner/overlap/pair_problem.h"

namespace tessella {

// An order as indices into PairProblem::tasks, by OpLane. It may leave tasks out as long as no task of it follows them.
struct LaneOrders {
  std::array<std::vector<std::size_t>, 2> lanes;
  bool operator==(const LaneOrders&) const = default;

  std::vector<std::size_t>& operator[](OpLane lane) { return lanes[static_cast<std::size_t>(lane)]; }
  const std::vector<std::size_t>& operator[](OpLane lane) const { return lanes[static_cast<std::size_t>(lane)]; }
};

struct PairTimeline {
  std::vector<Time> start; // [task]
  std::vector<Time> end;
  Duration makespan;
  Duration ep_busy;
  Duration ep_hidden; // ep and compute lane both busy
};

// Runs the order as sim/exec does on one rank at balanced load. The lanes must not wait for each other: checked.
// O(ops).
PairTimeline run_order(const PairProblem& problem, const LaneOrders& order);

// The same order in the planner's and in the domain's words; the plan must have no problem (order_problem).
LaneOrders lane_orders(const PairProblem& problem, const PairPlan& plan);
PairPlan pair_plan(const PairProblem& problem, const LaneOrders& order);

} // namespace tessella
