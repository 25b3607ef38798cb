// Chimera (Li & Hoefler 2021), one pipeline in each direction (f = 1): of each unit of p micro-batches the first half
// goes down (stage k on rank k), the second half up (stage k on rank p-1-k). p=4 m=4, F = B = 1 slot:
//   r0 01.2c3da.b      F(k,j) stands in slot 2j + k, B(k,j) in slot 2j + 2p-1-k, j within its half;
//   r1 .0213cadb.      the directions never collide because p is even
//   r2 .2031acbd.
//   r3 23.0a1bc.d
// Bubble p-2 slots when F = B, for any number of units; between p/2+1 and p activations, weights twice. Units are
// concatenated directly (2p slots apart); forward doubling and backward halving are not modelled.
#include <algorithm>

#include "sim/schedule/build.h"

namespace tessella {
namespace {

// Both directions of one rank, by slot number.
std::vector<Slot> chimera_rank(const ScheduleShape& shape, std::int32_t rank) {
  const std::int32_t p = shape.pp;
  const std::int32_t units = shape.num_micro_batches / p;
  std::vector<std::optional<Action>> by_slot(static_cast<std::size_t>(2 * p * (units - 1) + 3 * p));
  for (std::int32_t u = 0; u < units; ++u) {
    for (std::int32_t i = 0; i < p; ++i) {
      const bool down = i < p / 2;
      const std::int32_t stage = down ? rank : p - 1 - rank;
      const std::int32_t j = down ? i : i - p / 2;
      const std::int32_t base = 2 * p * u + 2 * j;
      by_slot[static_cast<std::size_t>(base + stage)] = action(stage, ActionKind::F, u * p + i);
      by_slot[static_cast<std::size_t>(base + 2 * p - 1 - stage)] = action(stage, ActionKind::B, u * p + i);
    }
  }
  std::vector<Slot> slots;
  slots.reserve(2 * static_cast<std::size_t>(shape.num_micro_batches));
  for (const auto& a : by_slot)
    if (a) slots.push_back({*a, std::nullopt});
  return slots;
}

} // namespace

Schedule chimera(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("chimera", shape, Placement::two_directions);
  for (std::int32_t r = 0; r < shape.pp; ++r) schedule.ranks[static_cast<std::size_t>(r)] = chimera_rank(shape, r);
  return schedule;
}

} // namespace tessella
