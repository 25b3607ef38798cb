// Which stages meet on a rank, and which layer ranges a stage may hold: the search space of the overlap-aware
// partitioner.
//
// An edge is an overlap opportunity with its pass directions: the forward of one stage co-scheduled with the backward
// of another (or the same) on one rank, as the schedule template creates it. Where a schedule pairs nothing, a backward
// and the forward next to it in the steady state stand for the pair: they run one after the other, and the bottleneck
// of their sums is what balances the pipeline.
//
// Source: Tessera (OSDI '26), section 3.1; science/tessera, sections 4 and 7.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/base/units.h"
#include "sim/domain/plan.h"
#include "sim/domain/schedule.h"
#include "sim/planner/partition/stage_memory.h"

namespace tessella {

struct OverlapEdge {
  std::int32_t forward_stage = 0;
  std::int32_t backward_stage = 0;
  std::int64_t count = 0; // slots of the step that run it
  bool operator==(const OverlapEdge&) const = default;
};

// What one pipeline rank runs of the edges: in the steady state it pays their sum, each as often as its slots run it.
struct OverlapRank {
  struct Run {
    std::int32_t edge = 0; // index into the edges
    std::int64_t count = 0;
    bool operator==(const Run&) const = default;
  };
  std::vector<std::int32_t> stages; // that it holds, ascending
  std::vector<Run> runs;            // ascending by edge
  bool operator==(const OverlapRank&) const = default;
};

struct OverlapGraph {
  std::int32_t num_stages = 0;
  bool paired = false;            // the schedule co-schedules; else its edges run serially
  std::vector<OverlapEdge> edges; // ascending by stages
  std::vector<OverlapRank> ranks; // [pipeline rank]
  bool operator==(const OverlapGraph&) const = default;
};

// O(slots). Shadow micro-batches make no edge.
OverlapGraph overlap_graph(const Schedule& schedule);

// Post-overlap cost of a forward stage beside a backward stage.
using EdgeCost = std::function<Duration(const StageContent& forward, const StageContent& backward)>;

// [stage] layer ranges within `radius` of the baseline's boundaries, ascending by first and then by number of layers.
// Boundaries stay in [0, layers]; a stage keeps at least one layer unless the baseline leaves some stage empty. The
// baseline's embedding, MTP and loss stay where they are. O(stages * radius^2).
std::vector<std::vector<StageContent>> candidates_around(const Partition& baseline, std::int32_t radius);

// The largest edge of a partition, and the largest sum of a rank's edges: the two surrogates of a step.
Duration bottleneck(const OverlapGraph& graph, const Partition& partition, const EdgeCost& cost);
Duration rank_sum(const OverlapGraph& graph, const Partition& partition, const EdgeCost& cost);

// The search as plain numbers, for both solvers: choose one candidate per stage, consecutive ranges meeting, every
// limit kept, so that the largest edge cost is smallest.
struct PartitionProblem {
  std::vector<std::vector<StageContent>> candidates; // [stage]
  struct Edge {
    std::int32_t forward_stage = 0;
    std::int32_t backward_stage = 0;
    std::vector<Duration> cost; // [forward candidate * backward candidates + backward candidate]; a self-loop: [c]
  };
  std::vector<Edge> edges;
  // sum of load over its stages <= cap
  struct Limit {
    std::vector<std::int32_t> stages;
    std::vector<std::vector<Bytes>> load; // [position in stages][candidate]
    Bytes cap;
  };
  std::vector<Limit> limits;
  std::vector<OverlapRank> ranks; // for the rank-sum objective; `edge` indexes `edges`

  // y (stage, candidate) and z (edge, candidate pair) of the MILP; a pair that costs Duration::max() is forbidden and
  // none.
  std::int64_t variables() const;
};

// `memory` null: no limits. O(edges * candidates^2) look-ups.
PartitionProblem partition_problem(const OverlapGraph& graph, std::vector<std::vector<StageContent>> candidates,
                                   const EdgeCost& cost, const StageMemory* memory);

// Safe pruning: candidate pairs dearer than `ceiling` cannot be part of a better plan; a candidate whose every pair on
// some edge is too dear goes, and with it the pairs of its neighbours, until nothing changes; so does one that no
// neighbouring stage's range meets. Keeps every solution whose bottleneck is at most `ceiling`; a pair that went costs
// Duration::max() in the result. O(edges * candidates^2 * rounds).
PartitionProblem prune(const PartitionProblem& problem, Duration ceiling);

} // namespace tessella
