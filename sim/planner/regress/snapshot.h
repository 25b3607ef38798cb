// A run as a baseline keeps it: the artefacts of `tessella regress`, taken in the order in which they build on each
// other.
#pragma once

#include <atomic>

#include "sim/domain/baseline.h"
#include "sim/domain/scenario.h"
#include "sim/planner/overlap/overlap.h"

namespace tessella {

struct SnapshotOptions {
  bool plan = false; // plan the partition anew, with pairs by `pairs`; else run what the experiment says, in its order
  PairRule pairs{OverlapMethod::align_defer, {}};
  unsigned threads = 1;                    // results do not depend on it
  const std::atomic<bool>* stop = nullptr; // ends a run of many steps early
};

// The artefacts and the inputs of a run; name, tool, note and settings are left to the caller.
//   imbalance  layout; plan.*_s when it was planned; stage_imbalance, load_imbalance_*, ledger.imbalance, stages.I.*_s,
//              costs.KIND.PASS.OP: seconds of each compute op of each layer kind, for one micro-batch;
//              pair_costs.(iF;jB): post-overlap seconds of each distinct pair, by the first stages that have it
//   bubbles    schedule, pairs.(iF;jB): the interleaving of the pair (digest of its order);
//              ledger.compute, ledger.optimizer, ledger.bubble_*
//   fabric     ledger.overlapped, ledger.exposed_*, ep_hidden_fraction, costs as above of each collective, p2p_*
//   totals     step_time_*, throughput, MFU with its interval, memory
// Throws InfeasiblePlan when no plan fits, NotCovered when the profile lacks a cost.
Snapshot take_snapshot(Scenario scenario, const SnapshotOptions& options = {});

} // namespace tessella
