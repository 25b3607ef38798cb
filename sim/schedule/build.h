// Bricks of the generators: placements of stages on ranks, and slots.
#pragma once

#include "sim/domain/schedule.h"
#include "sim/schedule/generators.h"

namespace tessella {

enum class Placement {
  loop,           // stage s on rank s mod p
  v,              // two chunks: stage s on rank s, then back: stage 2p-1-s on rank s
  two_directions, // p stages, each held twice: by ranks s and p-1-s
};

// A schedule with its placement and one empty list per rank.
Schedule empty_schedule(const char* name, const ScheduleShape& shape, Placement placement);

inline Action action(std::int32_t stage, ActionKind kind, std::int32_t micro_batch) {
  return {Stage{stage}, kind, MicroBatch{micro_batch}};
}
inline Slot slot(std::int32_t stage, ActionKind kind, std::int32_t micro_batch) {
  return {action(stage, kind, micro_batch), std::nullopt};
}

} // namespace tessella
