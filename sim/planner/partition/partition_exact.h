// Exact solver of the overlap-aware partition problem: threshold search with propagation over boundaries.
//
// The optimum is one of the distinct edge costs. For a threshold T every constraint joins two stages: consecutive
// ranges must meet, and an edge's pair must cost at most T. Arc consistency on bit sets empties most domains, bounds on
// the memory limits prune the rest, and backtracking on the smallest domain decides what is left. Bisection over the
// sorted costs finds the smallest T with a solution, and each step below it is a proof that there is none.
//
// Exponential in the worst case, milliseconds on pipelines: boundaries couple neighbours only. `max_nodes` bounds the
// whole search; when it runs out the best partition so far comes with the bound proven by then.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/planner/overlap/overlap_graph.h"

namespace tessella {

struct PartitionSolution {
  std::vector<std::int32_t> choice; // [stage] index into its candidates
  Duration bottleneck;
  Duration lower_bound; // no partition of the problem is below; equal to the bottleneck when proven
  std::int64_t nodes = 0;
  bool proven() const { return lower_bound == bottleneck; }
  bool operator==(const PartitionSolution&) const = default;
};

// Nothing when no choice satisfies meeting ranges, limits and finite costs, or when max_nodes ran out before the first.
std::optional<PartitionSolution> solve_exact(const PartitionProblem& problem, std::int64_t max_nodes = 2'000'000);

// The largest edge of a choice.
Duration bottleneck_of_choice(const PartitionProblem& problem, const std::vector<std::int32_t>& choice);
Partition partition_of_choice(const PartitionProblem& problem, const std::vector<std::int32_t>& choice);

} // namespace tessella
