// LoopedBFS (breadth-first pipeline, Lamy-Poirier 2023; torch ScheduleLoopedBFS): a stage at a time, all micro-batches.
// p=2 v=2 m=3:
//   r0: 0F0 0F1 0F2 2F0 2F1 2F2 2B2 2B1 2B0 0B2 0B1 0B0
//   r1: 1F0 1F1 1F2 3F0 3F1 3F2 3B2 3B1 3B0 1B2 1B1 1B0
// Bubble (p-1)(F+B)/v for full-stage F and B; every rank keeps all m*v chunks, but each stage's weights are used once
// forward and once backward, which suits fully sharded weights.
#include "sim/schedule/build.h"

namespace tessella {

Schedule looped_bfs(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("looped_bfs", shape, Placement::loop);
  const std::int32_t m = shape.num_micro_batches;
  for (std::int32_t r = 0; r < shape.pp; ++r) {
    auto& slots = schedule.ranks[static_cast<std::size_t>(r)];
    slots.reserve(2 * static_cast<std::size_t>(m) * static_cast<std::size_t>(shape.vpp));
    for (std::int32_t c = 0; c < shape.vpp; ++c)
      for (std::int32_t j = 0; j < m; ++j) slots.push_back(slot(c * shape.pp + r, ActionKind::F, j));
    for (std::int32_t c = shape.vpp - 1; c >= 0; --c)
      for (std::int32_t j = m - 1; j >= 0; --j) slots.push_back(slot(c * shape.pp + r, ActionKind::B, j));
  }
  return schedule;
}

} // namespace tessella
