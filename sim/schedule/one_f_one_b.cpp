// 1F1B (PipeDream-flush, DAPPLE): rank r warms up with p-1-r forwards, then alternates one forward, one backward.
// p=3 m=4, one column = F, B = 2F (digits forward, letters backward, by micro-batch):
//   r0 012....aa3bb.cc.dd      F0 F1 F2 B0 F3 B1 B2 B3
//   r1 .01..aa2bb3cc.dd..      F0 F1 B0 F2 B1 F3 B2 B3
//   r2 ..0aa1bb2cc3dd....      F0 B0 F1 B1 F2 B2 F3 B3
// Bubble (p-1)(F+B), as GPipe, but rank r keeps only min(m, p-r) activations. With m < p the warm-up is clipped to m.
// Source: forward_backward_pipelining_without_interleaving, Megatron-LM schedules.py.
#include "sim/schedule/build.h"
#include "sim/schedule/interleaving.h"

namespace tessella {

Schedule one_f_one_b(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("1f1b", shape, Placement::loop);
  for (std::int32_t r = 0; r < shape.pp; ++r)
    schedule.ranks[static_cast<std::size_t>(r)] = warmup_steady_cooldown(shape, r, shape.pp - 1 - r);
  return schedule;
}

} // namespace tessella
