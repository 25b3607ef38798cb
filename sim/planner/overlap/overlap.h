// Overlap schedulers: how the tasks of a pair of actions share the lanes of a GPU, and what that costs.
//
//   fifo, align, align_defer   list schedulers (overlap_list.h); align_defer is Tessera's
//   megatron                   the fixed order of Megatron-Core; a forward and a backward only
//   exact                      the best order there is: the two-job job shop on the chains (overlap_chains.h), branch
//   and
//                              bound when there are movable tasks (overlap_search.h); never worse than the others
//
// Every result carries a proven lower bound, and says whether it reaches it.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "sim/domain/pair_plan.h"
#include "sim/planner/overlap/overlap_list.h"
#include "sim/planner/overlap/overlap_search.h"
#include "sim/planner/overlap/pair_problem.h"

namespace tessella {

enum class OverlapMethod { fifo, align, align_defer, megatron, exact };
inline constexpr std::array kOverlapMethods = {OverlapMethod::fifo, OverlapMethod::align, OverlapMethod::align_defer,
                                               OverlapMethod::megatron, OverlapMethod::exact};

// How a planner orders the pairs of a step: the method, and the constants of its list rules.
struct PairRule {
  OverlapMethod method = OverlapMethod::megatron;
  AlignRule align = {};
  bool operator==(const PairRule&) const = default;
};
const char* name(OverlapMethod method);
std::optional<OverlapMethod> parse_overlap_method(std::string_view text);

// Whether the method orders such a pair: Megatron pairs a forward with a backward.
bool applies(OverlapMethod method, const PairPasses& passes);

// `limits` bound the exact search, which then returns the best order found and what is proven about it. The method must
// apply. A result depends on its arguments alone, unless a time limit strikes.
PairResult schedule_pair(const PairProblem& problem, OverlapMethod method, const SearchLimits& limits = {},
                         const AlignRule& align = {});

// What a given order costs; it must have no problem (order_problem, sim/exec/pair_order.h).
PairResult cost_of_order(const PairProblem& problem, const PairPlan& plan);

} // namespace tessella
