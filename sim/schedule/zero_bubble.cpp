// ZB-H1 and ZB-H2 (Qi et al. 2024, "Zero Bubble Pipeline Parallelism"): the backward is split into I, which the stage
// before waits for, and W, which nobody waits for and which fills the bubbles.
// p=3 m=4, F = I = W (digits F, letters I, - W):
//   ZB-H1  r0 012..a-3b-c-d-      warm-up p-1-r, W lags by r: the memory of 1F1B's first rank on every rank
//          r1 .01.a2b-3c-d--
//          r2 ..0a1b2c-3d---
//   ZB-H2  r0 0123.a-b-c-d-.      warm-up 2(p-1-r), W lags by 2r: no idle time inside a rank's span when F = I = W
//          r1 .012a3b.c-d---      and m >= 2p-1 (here m is one short), for twice the memory
//          r2 ..0a1b2c3d----
// Bubbles (p-1)(F+I-W) and, inside the span, (p-1)(F+I-2W): exact for F = I = W and near it, not for any triple.
#include "sim/schedule/zero_bubble.h"

#include <algorithm>

#include "sim/schedule/build.h"
#include "sim/schedule/interleaving.h"

namespace tessella {

std::vector<Slot> zero_bubble_rank(const ScheduleShape& shape, std::int32_t rank, std::int32_t warmup,
                                   std::int32_t delay) {
  const std::int32_t total = shape.num_micro_batches * shape.vpp;
  const std::int32_t w = std::min(warmup, total);
  const std::int32_t d = std::min(delay, total);
  std::vector<Slot> slots;
  slots.reserve(3 * static_cast<std::size_t>(total));
  const auto push = [&](const Action& a) { slots.push_back({a, std::nullopt}); };
  for (std::int32_t k = 0; k < w; ++k) push(kth_forward(shape, rank, k));
  for (std::int32_t k = 0; k < total; ++k) {
    if (k + w < total) push(kth_forward(shape, rank, k + w));
    push(kth_backward(shape, rank, k, ActionKind::I));
    if (k >= d) push(kth_backward(shape, rank, k - d, ActionKind::W));
  }
  for (std::int32_t k = total - d; k < total; ++k) push(kth_backward(shape, rank, k, ActionKind::W));
  return slots;
}

Schedule zb_h1(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("zb_h1", shape, Placement::loop);
  for (std::int32_t r = 0; r < shape.pp; ++r)
    schedule.ranks[static_cast<std::size_t>(r)] = zero_bubble_rank(shape, r, shape.pp - 1 - r, r);
  return schedule;
}

Schedule zb_h2(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("zb_h2", shape, Placement::loop);
  for (std::int32_t r = 0; r < shape.pp; ++r)
    schedule.ranks[static_cast<std::size_t>(r)] = zero_bubble_rank(shape, r, 2 * (shape.pp - 1 - r), 2 * r);
  return schedule;
}

} // namespace tessella
