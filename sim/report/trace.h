// The run as a Chrome trace (JSON object format), which https://ui.perfetto.dev and chrome://tracing open.
//   process  one per chosen rank, named "[TP00-DP01-PP00-EP00]", sorted by rank
//   thread   one per lane of that rank, and "p2p" for the messages it sends
//   ph X     one slice per op and per message; args stage, micro_batch, step
//   ph s, f  one arrow per message, to the next slice of the receiver's compute lane; only when both ends are among the
//            chosen ranks
// `ts` and `dur` are microseconds with six decimals, so picoseconds survive. Steps follow one another on the time axis.
// The size is bounded: when there are more than `max_events` ops the latest are dropped, and the result says so.
// O(n log n) in the number of events; the text is streamed.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sim/domain/scenario.h"
#include "sim/ledger/result.h"

namespace tessella {

struct TraceOptions {
  std::size_t max_events = 1'000'000; // about 170 MB of JSON, 15 MB compressed
};

using TraceSink = std::function<void(std::string_view)>;

// Writes the trace piece by piece; returns a warning when slices were dropped.
std::optional<std::string> write_trace(const Scenario& scenario, const RunResult& result, const TraceOptions& options,
                                       const TraceSink& sink);

// The same into a file, compressed when `path` ends in ".gz". Errors: InputError with the path.
std::optional<std::string> write_trace_file(const Scenario& scenario, const RunResult& result, const std::string& path,
                                            const TraceOptions& options = {});

} // namespace tessella
