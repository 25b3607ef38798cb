// A rank's trace as a Chakra execution trace (.et): protocol-buffer messages, each behind its length, the first the
// global metadata, the others nodes (MLCommons Chakra, et_def.proto, schema 0.0.4). `tessella import chakra` reads it.
//
//   node         id (place + 1), name, type, data_deps, start_time_micros, duration_micros (both rounded)
//   attributes   is_cpu_op, duration_ps; collectives: comm_type, comm_size, pg_name; messages: comm_src, comm_dst,
//                comm_tag, comm_size
//   metadata     version, and "simulated_by": these are predictions, not measurements
#pragma once

#include <string>

#include "sim/domain/rank_trace.h"

namespace tessella {

// O(nodes).
std::string chakra_et(const RankTrace& trace, const std::string& tool);

} // namespace tessella
