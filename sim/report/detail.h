// The block `detail` of `run --json`: what a report needs to show single ranks. Integers, one line.
//
//   shares           names of the columns of rank_ledger_ps
//   rank_ledger_ps   per global rank of the first step, picoseconds; a row sums to the step
//   timeline         the traced ranks in the first traced step, in nanoseconds from its begin (rounded down):
//     ranks          [{rank, name, actions{begin_ns, end_ns, kind, stage, micro_batch}, ops{begin_ns, end_ns, lane,
//     name,
//                    action}}]: columns of equal length; `kind` is a text with one letter per action
//     lanes, op_names   what ops.lane and ops.name index; ops.action indexes the actions of the rank
//     ops_from_ns, ops_to_ns   ops are given for this part of the step only
//
// An action spans from the first of its ops to the last; two that share a GPU overlap. Pieces of a deferred weight
// gradient are actions of their own when something else ran between them.
// Bounded: at most kMaxTimelineOps ops, those in the middle of the step.
#pragma once

#include <cstddef>
#include <string>

#include "sim/domain/scenario.h"
#include "sim/ledger/result.h"

namespace tessella {

inline constexpr std::size_t kMaxTimelineOps = 60'000; // about 1.7 MB

// O(ranks + n log n) in the number of events.
std::string detail_json(const Scenario& scenario, const RunResult& result);

} // namespace tessella
