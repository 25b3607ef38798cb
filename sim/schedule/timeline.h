// A replayed schedule as a picture: one row per rank, one column per unit of time.
#pragma once

#include <cstdint>
#include <string>

#include "sim/domain/schedule.h"
#include "sim/schedule/replay.h"

namespace tessella {

// At most `columns` columns; one column is the smallest whole time that makes the makespan fit, and shows what runs in
// its middle: 0-9 forward (micro-batch modulo 10), a-j backward, `-` weight gradient, `~` shadow, `.` idle. A pair
// shows its forward in its first half.
//
//   1f1b: 2 ranks, 3 micro-batches; makespan 12, bubble 25.0 %, one column = 1
//   r0 01.aa2bb.cc
//   r1 .0aa1bb2cc.
std::string timeline(const Schedule& schedule, const Replay& replay, std::int64_t columns = 110);

} // namespace tessella
