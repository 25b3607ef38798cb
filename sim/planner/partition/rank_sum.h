// Exact solver of the other surrogate of a step: the smallest largest sum of a pipeline rank's edges.
//
// With several chunks a rank pays the sum of its edges, each as often as its slots run it, and no single edge ranks
// partitions. The problem is that of partition_exact.h with another objective: one candidate per stage, consecutive
// ranges meeting, every limit kept, so that the largest rank sum is smallest.
//
// Branch and bound with a proof. For a threshold T each rank on its own lists its columns: choices of its stages whose
// sum is at most T, by depth-first search bounded from below by the cheapest pair of every open edge and by what its
// boundaries leave the other ranks to pay (rank_others.h), which is at most T each. A join over the ranks then keeps,
// for each choice of the boundaries that a later rank still shares, the best way to get there (rank_join.h). What it
// finds is optimal, because every better partition consists of columns that were listed. T is the sum that moves of one
// layer reach from `known`; without one, or when two thirds of the nodes do not suffice for it, T grows geometrically
// from a lower bound, and a T without a join proves that no partition is below T + 1. Among equals the smallest sum of
// squared rank sums, where the nodes suffice.
//
// Exponential in the chunks of a rank, (2 radius + 1)^(2 chunks) columns at most; `max_nodes` bounds the whole search.
// When it runs out, what the moves reached comes back with the bound proven by then.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/planner/partition/partition_exact.h"

namespace tessella {

// In the solution `bottleneck` is the largest rank sum and `lower_bound` the proven bound on it. `known`: a partition
// to fall back on, used when it is among the candidates and within the limits. Nothing when no choice is within the
// limits, or when max_nodes ran out and `known` is not.
std::optional<PartitionSolution> solve_rank_sum(const PartitionProblem& problem, const Partition& known,
                                                std::int64_t max_nodes = 5'000'000);

// The largest rank sum of a choice.
Duration rank_sum_of_choice(const PartitionProblem& problem, const std::vector<std::int32_t>& choice);

} // namespace tessella
