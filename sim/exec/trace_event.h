// What a traced rank did: one record per op and per message. Listeners only; nothing here feeds back into a run.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/units.h"

namespace tessella {

// One op (or, when `op` is "F", "B", ..., a whole action) on one rank of the chosen ones; for timelines and traces.
struct TraceEvent {
  std::int32_t rank = 0; // global
  std::int32_t step = 0;
  std::int32_t lane = 0; // index into RunResult::lanes
  std::int32_t stage = 0;
  std::int32_t micro_batch = 0;
  char kind = 'F'; // F B I W; 'S' send, 'D' data-parallel, 'O' optimizer
  std::string op;
  Time begin;
  Time end;
  bool operator==(const TraceEvent&) const = default;
};

// A message from one rank to another, drawn as an arrow.
struct TraceFlow {
  std::int32_t from_rank = 0;
  std::int32_t to_rank = 0;
  std::int32_t step = 0;
  std::int32_t stage = 0; // sender's stage
  std::int32_t micro_batch = 0;
  char kind = 'F';
  Time sent;
  Time arrived;
  bool operator==(const TraceFlow&) const = default;
};

} // namespace tessella
