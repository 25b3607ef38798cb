// A slow, obvious simulator of a Program: every rank of every group on its own, one event per rank-op, time advanced
// from event to event. It shares no code with sim/exec but the plain values, and is the oracle of its group arrays.
#pragma once

#include <vector>

#include "sim/domain/ledger.h"
#include "sim/exec/loads.h"
#include "sim/exec/program.h"

namespace tessella::testing {

struct ReferenceRank {
  Time end;      // of its last action
  LedgerRow row; // of [0, end)
};

// [position][rank in group] of one replica of one step, up to the end of the last action. No jitter.
std::vector<std::vector<ReferenceRank>> simulate_rank_by_rank(const Program& program, const LoadSource* loads,
                                                              std::int64_t step, std::int32_t replica);

} // namespace tessella::testing
