// Memory as a planner needs it: what a stage of any content holds, and for each pipeline rank the linear limits
// that a partition must respect. The same numbers as sim/cost/memory.h, taken apart:
//
//   peak(rank) = sum over its stages of state(stage) + f * max over live vectors of sum live * kept(stage)
//                + f * workspace + context,      f = fragmentation
//
// A live vector counts the activations of each stage that live at one slot of the schedule; only those that no other
// dominates are kept. The workspace is that of the hungriest rank under the scenario's own partition, so a limit may be
// stricter than the report by the difference between two kinds' workspaces; a finished plan is judged by the report.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.h"
#include "sim/cost/activation.h"
#include "sim/cost/memory.h"
#include "sim/domain/plan.h"
#include "sim/domain/scenario.h"
#include "sim/domain/schedule.h"

namespace tessella {

struct StageBytes {
  Bytes state; // weights, gradients, optimizer
  Bytes kept;  // of one micro-batch, until its weight gradient; fragmentation included
  Bytes loss;  // of one micro-batch, until its input gradient; fragmentation included
  bool operator==(const StageBytes&) const = default;
};

struct LiveStage {
  std::int32_t stage = 0;
  std::int64_t kept = 0; // micro-batches whose activations live
  std::int64_t loss = 0; // ... whose logits live
  bool operator==(const LiveStage&) const = default;
};
using LiveVector = std::vector<LiveStage>; // one entry per stage of the rank, ascending

class StageMemory {
 public:
  // hot_load: tokens of the hottest expert rank over the mean. The scenario must outlive it and has a legal partition.
  // O(slots * chunks), plus the filter of live vectors.
  StageMemory(const Scenario& scenario, const Schedule& schedule, double hot_load);

  StageBytes of(const StageContent& content) const;
  // What layers may use on each rank: capacity less context and workspace.
  Bytes budget() const { return budget_; }
  const std::vector<std::vector<LiveVector>>& live() const { return live_; } // [rank]
  // The least free memory over all ranks; negative when the partition does not fit. O(stages * live vectors).
  Bytes slack(const Partition& partition) const;

 private:
  const Scenario& scenario_;
  MemoryAssumptions assume_;
  ActivationShape shape_;
  std::vector<std::vector<LiveVector>> live_;
  Bytes budget_;
};

// The live vectors of one rank's slots that no other dominates.
std::vector<LiveVector> live_vectors(const Schedule& schedule, std::size_t rank);

} // namespace tessella
