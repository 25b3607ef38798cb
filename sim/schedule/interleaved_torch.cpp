// torch's interleaved schedules: the table of interleaved.cpp with m / max(1, m div p) micro-batches per group.
// Interleaved1F1B, p=2 v=2 m=3 (one round, N = 3):
//   r0: 0F0 0F1 0F2 2F0 2F1 2F2 2B0 2B1 2B2 0B0 0B1 0B2
//   r1: 1F0 1F1 1F2 3F0 3B0 3F1 3B1 3F2 3B2 1B0 1B1 1B2
// InterleavedZeroBubble splits B, warms up with (v-1)N + p-1-r forwards and lets W lag by r. p=2 v=2 m=2 (N = 2):
//   r0: 0F0 0F1 2F0 2F1 2I0 2W0 2I1 2W1 0I0 0W0 0I1 0W1
//   r1: 1F0 1F1 3F0 3I0 3F1 3I1 3W0 1I0 3W1 1I1 1W0 1W1
// Source: torch/distributed/pipelining/schedules.py.
#include "sim/schedule/build.h"
#include "sim/schedule/torch_rounds.h"
#include "sim/schedule/zero_bubble.h"

namespace tessella {

Schedule interleaved_1f1b_torch(const ScheduleShape& shape) {
  Schedule schedule = interleaved_1f1b(with_torch_groups(shape));
  schedule.name = "interleaved_1f1b_torch";
  return schedule;
}

Schedule interleaved_zb(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("interleaved_zb", shape, Placement::loop);
  const ScheduleShape grouped = with_torch_groups(shape);
  for (std::int32_t r = 0; r < shape.pp; ++r) {
    const std::int32_t warmup = (shape.vpp - 1) * grouped.group_size + shape.pp - 1 - r;
    schedule.ranks[static_cast<std::size_t>(r)] = zero_bubble_rank(grouped, r, warmup, r);
  }
  return schedule;
}

} // namespace tessella
