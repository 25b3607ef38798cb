// A simulated step of one rank as a trace with dependencies, for tools that replay communication.
//
//   times          of the run: an op with what slowed it, an exchange with the wait for the others
//   sizes          at balanced load: input of a collective on this rank (nccl's count, in bytes), as
//                  all_gather s / (n-1), reduce_scatter and all_to_all s n / (n-1), all_reduce s n / (2 (n-1)) for s
//                  bytes sent in a group of n; a ring exchange of keys and values is an all_gather. Expert exchanges
//                  count every routed row, also where the dispatcher sends one copy per node.
//   dependencies   of the run's order: the op before on the same lane, the last op of the same action that had ended
//   and
//                  that others wait for (no weight gradient), the message that brought the action its input
//
// Left out: exchanges hidden inside an op (ring attention behind attention), the gradient norm's all-reduce. Parameter
// gathers that overlap the next step's forwards follow the optimizer.
#pragma once

#include <cstdint>

#include "sim/domain/rank_trace.h"
#include "sim/domain/scenario.h"
#include "sim/exec/records.h"
#include "sim/ledger/result.h"

namespace tessella {

// What a run must trace so that `rank` finds its messages: its column of the pipeline, first step.
TraceRequest trace_of_column(const Scenario& scenario, std::int32_t rank);

// `result` is of a run that traced the column. Not for profiles of form uniform_stage. O(n log n) in its events.
RankTrace rank_trace(const Scenario& scenario, const RunResult& result, std::int32_t rank);

} // namespace tessella
