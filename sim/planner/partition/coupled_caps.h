// Balanced partitions of a schedule whose ranks hold several stages: the memory caps then bind sums of stages, and the
// chain of partition_dp.h no longer sees them.
//
// Without caps that chain gives the optimum; when it fits, it is the answer. Otherwise the threshold search of
// partition_exact.h runs on ranges around it, wider and wider until something fits, and once more on every range that a
// partition at least as good can hold: then the answer is optimal. Where those ranges are too many, or the nodes of a
// search run out, the best found stands. Among equals the evenest that moves of one layer reach.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/domain/plan.h"
#include "sim/planner/overlap/overlap_graph.h"
#include "sim/planner/partition/partition_dp.h"
#include "sim/planner/partition/stage_memory.h"

namespace tessella {

// `start` is the optimum without caps. Nothing when none is found within 4 layers of it.
std::optional<Partition> balance_under_caps(std::span<const ChainLayer> layers, std::span<const ChainStage> stages,
                                            const Partition& start, const StageMemory& memory);

// The partition of the problem whose fullest rank needs the least memory, whatever it costs in time.
struct Leanest {
  Partition partition;
  std::vector<std::int32_t> stages; // of the fullest rank
  std::int32_t fullest = 0;         // the one of them that holds most
  Bytes held;                       // by it
  Bytes missing;                    // on that rank; <= 0 when it fits
  bool proven = false;
};
// `known` is one of its partitions, limits aside. Every limit has the same cap. Nothing when there are no limits.
std::optional<Leanest> leanest_partition(const PartitionProblem& problem, const Partition& known);

} // namespace tessella
