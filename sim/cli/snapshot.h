// A run as a baseline keeps it.
#pragma once

#include "sim/domain/baseline.h"
#include "sim/domain/scenario.h"
#include "sim/ledger/result.h"

namespace tessella {

// The artefacts and the inputs of a run; name, tool, note and settings are left to the caller.
//   imbalance  layout; stage_imbalance, load_imbalance_*, ledger.imbalance, stages.I.*_s,
//              costs.KIND.PASS.OP: seconds of each compute op of each layer kind, for one micro-batch
//   bubbles    schedule, pairs.FxBy: the interleaving of each co-scheduled pair (digest of its ops in order);
//              ledger.compute, ledger.optimizer, ledger.bubble_*
//   fabric     ledger.overlapped, ledger.exposed_*, ep_hidden_fraction, costs as above of each collective, p2p_*
//   totals     step_time_*, throughput, MFU, memory
Snapshot snapshot_of(const Scenario& scenario, const RunResult& result);

} // namespace tessella
