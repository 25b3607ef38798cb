// ZB-H1, ZB-H2 (Qi et al. 2024, "Zero Bubble Pipeline Parallelism") and torch's InterleavedZeroBubble: the backward is
// split into I, which the stage before waits for, and W, which nobody waits for and which fills the bubbles.
// p=3 m=4, lists:
//   ZB-H1  r0: F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3     warm-up p-1-r, W lags by r:
//          r1: F0 F1 I0 F2 I1 W0 F3 I2 W1 I3 W2 W3     the memory of 1F1B's first rank on every rank
//          r2: F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3
//   ZB-H2  r0: F0 F1 F2 F3 I0 W0 I1 W1 I2 W2 I3 W3     warm-up 2(p-1-r), W lags by 2r:
//          r1: F0 F1 F2 I0 F3 I1 I2 W0 I3 W1 W2 W3     no idle time inside a rank's span when F = I = W, m >= 2p-1,
//          r2: F0 I0 F1 I1 F2 I2 F3 I3 W0 W1 W2 W3     for twice the memory
// Bubbles (p-1)(F+I-W) and, inside the span, (p-1)(F+I-2W): exact for F = I = W and close to it, not for any triple.
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
