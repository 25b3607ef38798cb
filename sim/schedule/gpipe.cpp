// GPipe (Huang et al. 2019): all forwards, then all backwards in ascending order, as torch runs them.
// p=3 m=4, one column = F, B = 2F (digits forward, letters backward, by micro-batch):
//   r0 0123......aabbccdd
//   r1 .0123...aabbccdd..
//   r2 ..0123aabbccdd....
// Makespan (m + p - 1)(F + B); every rank keeps m activations.
#include "sim/schedule/build.h"

namespace tessella {

Schedule gpipe(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("gpipe", shape, Placement::loop);
  for (std::int32_t r = 0; r < shape.pp; ++r) {
    auto& slots = schedule.ranks[static_cast<std::size_t>(r)];
    slots.reserve(2 * static_cast<std::size_t>(shape.num_micro_batches));
    for (std::int32_t j = 0; j < shape.num_micro_batches; ++j) slots.push_back(slot(r, ActionKind::F, j));
    for (std::int32_t j = 0; j < shape.num_micro_batches; ++j) slots.push_back(slot(r, ActionKind::B, j));
  }
  return schedule;
}

} // namespace tessella
