// What the interleaved family shares: Megatron's table of virtual micro-batches, and the walk
// "warm-up forwards, then forward/backward, then the remaining backwards" over it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/schedule/generators.h"

namespace tessella {

struct VirtualMicroBatch {
  std::int32_t micro_batch = 0;
  std::int32_t chunk = 0;
};

// Entry k of the table, 0 <= k < m*v: for each group of N micro-batches, for each chunk, all micro-batches of the
// group; the last group may be shorter. p=2 v=2 N=3 m=5: micro-batches 0 1 2 0 1 2 3 4 3 4, chunks 0 0 0 1 1 1 0 0 1 1.
// O(1). Source: get_schedule_table, Megatron-LM schedules.py.
VirtualMicroBatch virtual_micro_batch(const ScheduleShape& shape, std::int32_t k);

// The k-th forward and the k-th backward (chunks in reverse) of a rank, stages placed in a loop.
Action kth_forward(const ScheduleShape& shape, std::int32_t rank, std::int32_t k);
Action kth_backward(const ScheduleShape& shape, std::int32_t rank, std::int32_t k, ActionKind kind = ActionKind::B);

// One rank: `warmup` forwards (clipped to m*v), then F(k + warmup), B(k), then the remaining backwards. With `pair`
// each F(k + warmup), B(k) becomes one slot.
std::vector<Slot> warmup_steady_cooldown(const ScheduleShape& shape, std::int32_t rank, std::int32_t warmup,
                                         bool pair = false);

} // namespace tessella
