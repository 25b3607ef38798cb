// The partition problem that the planner solves, and how large it is: candidates around a baseline, before and after
// the safe pruning by that baseline's own bottleneck.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/planner/overlap/overlap_graph.h"

namespace tessella {

struct OverlapProblem {
  PartitionProblem whole;
  PartitionProblem pruned; // the whole problem again when the baseline does not fit: then it is no ceiling
};

// As partition_problem() and prune(); `memory` null: no limits, and the baseline is a ceiling.
OverlapProblem overlap_problem(const OverlapGraph& graph, const Partition& baseline, std::int32_t radius,
                               const EdgeCost& cost, const StageMemory* memory);

// Many partitions share the smallest bottleneck. Layers move between neighbouring stages while that makes the sum of
// the squared edges (each as often as its slots run) smaller, the bottleneck no larger, and the partition `fits`.
// O(rounds * stages * edges) look-ups.
Partition evened(const OverlapGraph& graph, const Partition& partition, const EdgeCost& cost,
                 const std::function<bool(const Partition&)>& fits);

// Variables of equation (1) as Tessera writes it: y of every candidate, z of every candidate pair of every edge, those
// of a self-loop too; and after its pruning: pairs dearer than the ceiling go, then candidates without a pair on some
// edge, until nothing changes. PartitionProblem needs fewer: a self-loop has no choice of pairs, and ranges that meet
// no neighbour go as well. O(edges * candidates^2 * rounds).
struct EquationSize {
  std::int64_t variables = 0;
  std::int64_t pruned = 0;
  bool operator==(const EquationSize&) const = default;
};
EquationSize equation_size(const OverlapGraph& graph, const std::vector<std::vector<StageContent>>& candidates,
                           const EdgeCost& cost, Duration ceiling);

} // namespace tessella
