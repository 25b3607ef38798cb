// ZB-V (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory"; torch ScheduleZBVZeroBubble): two chunks per
// rank placed in a V, so the last rank turns a micro-batch round at once. Rank 0 holds stages 0 and 2p-1.
// p=2 m=3, F = I = W (digits F, letters I, - W):
//   r0 0120a-1b-a-2c-b-c-.      0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0I0 0W0 3F2 3I2 3W2 0I1 0W1 0I2 0W2
//   r1 .0011a-2a-2b-bcc---
// No idle time inside a rank's span when F = I = W and m >= 2p-1, with the memory of 1F1B's first rank (2p chunks of
// half size). Unbalanced F, I, W leave bubbles.
#include <algorithm>

#include "sim/schedule/build.h"

namespace tessella {
namespace {

// Writes one rank's list; counts the next micro-batch of each (kind, chunk).
class Writer {
 public:
  Writer(const ScheduleShape& shape, std::int32_t rank)
      : stage_{rank, 2 * shape.pp - 1 - rank}, m_(shape.num_micro_batches) {
    slots_.reserve(6 * static_cast<std::size_t>(m_));
  }

  std::int32_t written(ActionKind kind, std::size_t chunk) const { return next_[index(kind)][chunk]; }

  // The next action of this kind and chunk. The pattern may be longer than the run: what is beyond m is left out.
  void put(ActionKind kind, std::size_t chunk) {
    const std::int32_t j = next_[index(kind)][chunk]++;
    if (j < m_) slots_.push_back(slot(stage_[chunk], kind, j));
  }

  std::vector<Slot> take() { return std::move(slots_); }

 private:
  static std::size_t index(ActionKind kind) {
    if (kind == ActionKind::F) return 0;
    return kind == ActionKind::I ? 1 : 2;
  }

  std::int32_t stage_[2];
  std::int32_t m_;
  std::int32_t next_[3][2] = {};
  std::vector<Slot> slots_;
};

std::vector<Slot> zb_v_rank(const ScheduleShape& shape, std::int32_t r) {
  using enum ActionKind;
  const std::int32_t p = shape.pp;
  const std::int32_t m = std::max(2 * p - 1, shape.num_micro_batches);
  Writer out(shape, r);
  for (std::int32_t i = 0; i < 2 * (p - r) - 1; ++i) out.put(F, 0);
  for (std::int32_t i = 0; i < r; ++i) out.put(F, 1), out.put(F, 0);
  for (std::int32_t i = 0; i < p - r; ++i) out.put(F, 1), out.put(I, 1), out.put(W, 1);
  while (out.written(F, 0) < m || out.written(F, 1) < m) {
    if (out.written(F, 0) < m) out.put(F, 0);
    out.put(I, 0), out.put(W, 0);
    out.put(F, 1), out.put(I, 1), out.put(W, 1);
  }
  for (std::int32_t i = 0; i < r; ++i) out.put(I, 0), out.put(I, 1);
  for (std::int32_t i = 0; i < p - r; ++i) out.put(I, 0), out.put(W, 0);
  while (out.written(W, 1) < out.written(I, 1)) out.put(W, 1);
  while (out.written(W, 0) < out.written(I, 0)) out.put(W, 0);
  return out.take();
}

} // namespace

Schedule zb_v(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("zb_v", shape, Placement::v);
  for (std::int32_t r = 0; r < shape.pp; ++r) schedule.ranks[static_cast<std::size_t>(r)] = zb_v_rank(shape, r);
  return schedule;
}

} // namespace tessella
