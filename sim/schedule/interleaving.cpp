#include "sim/schedule/interleaving.h"

#include <algorithm>

#include "sim/schedule/build.h"

namespace tessella {

VirtualMicroBatch virtual_micro_batch(const ScheduleShape& shape, std::int32_t k) {
  const std::int32_t group = k / (shape.group_size * shape.vpp);
  const std::int32_t first = group * shape.group_size;
  const std::int32_t size = std::min(shape.group_size, shape.num_micro_batches - first);
  const std::int32_t offset = k - first * shape.vpp;
  return {first + offset % size, offset / size};
}

Action kth_forward(const ScheduleShape& shape, std::int32_t rank, std::int32_t k) {
  const VirtualMicroBatch at = virtual_micro_batch(shape, k);
  return action(at.chunk * shape.pp + rank, ActionKind::F, at.micro_batch);
}

Action kth_backward(const ScheduleShape& shape, std::int32_t rank, std::int32_t k, ActionKind kind) {
  const VirtualMicroBatch at = virtual_micro_batch(shape, k);
  return action((shape.vpp - 1 - at.chunk) * shape.pp + rank, kind, at.micro_batch);
}

std::vector<Slot> warmup_steady_cooldown(const ScheduleShape& shape, std::int32_t rank, std::int32_t warmup,
                                         bool pair) {
  const std::int32_t total = shape.num_micro_batches * shape.vpp;
  const std::int32_t w = std::min(warmup, total);
  std::vector<Slot> slots;
  slots.reserve(static_cast<std::size_t>(pair ? total + w : 2 * total));
  for (std::int32_t k = 0; k < w; ++k) slots.push_back({kth_forward(shape, rank, k), std::nullopt});
  for (std::int32_t k = 0; k < total - w; ++k) {
    const Action forward = kth_forward(shape, rank, k + w);
    const Action backward = kth_backward(shape, rank, k);
    if (pair) {
      slots.push_back({forward, backward});
    } else {
      slots.push_back({forward, std::nullopt});
      slots.push_back({backward, std::nullopt});
    }
  }
  for (std::int32_t k = total - w; k < total; ++k) slots.push_back({kth_backward(shape, rank, k), std::nullopt});
  return slots;
}

} // namespace tessella
