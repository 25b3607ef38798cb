// How the two actions of a pair share a GPU: from an order of their tasks to the overlapped template that runs.
//
// The order of Megatron-Core (--overlap-moe-expert-parallel-comm; schedules, section 6.4): forward layers ascending
// zipped with backward layers descending, and per layer pair
//   compute  join B | join F (of the layer before) | attention F | experts B | wgrad experts | experts F | attention B
//   |
//            wgrad attention
//   ep       combine B | dispatch F | dispatch B | combine F
// Leftover backward layers follow, then leftover forward layers. Any other order comes from a planner or a user.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/domain/pair_plan.h"
#include "sim/exec/pair_tasks.h"
#include "sim/exec/program.h"

namespace tessella {

// Megatron's order for a forward and a backward; other passes are never paired by Megatron: checked.
PairPlan megatron_order(std::span<const PairTask> tasks, const PairPasses& passes);

// Why an order cannot run these tasks: a task that does not exist (with the nearest that does), stands on the wrong
// lane, twice or nowhere, or lanes that wait for each other.
struct OrderProblem {
  std::string message;
  OpLane lane = OpLane::compute;   // where it stands, if it is one task of the order
  std::optional<std::size_t> task; // its place on that lane
};

// Nothing when the order can run. O(tasks), O(tasks²) on errors.
std::optional<OrderProblem> order_problem(std::span<const PairTask> tasks, const PairPlan& plan);

// The template that runs the tasks in this order, which must have no problem. Its ops stand in an issue order in which
// every all-to-all comes right after the last op it depends on. O(ops).
Template lower_pair(const PairTasks& pair, const PairPlan& plan);

} // namespace tessella
