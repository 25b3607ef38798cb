// torch's rule for micro-batches that do not divide the ranks: they pass in rounds = max(1, m div p) equal groups.
#pragma once

#include <algorithm>

#include "sim/schedule/generators.h"

namespace tessella {

inline std::int32_t torch_rounds(const ScheduleShape& shape) {
  return std::max(1, shape.num_micro_batches / shape.pp);
}

// The shape with torch's group size m / rounds. Legal when rounds divides m. Source: ScheduleInterleaved1F1B in
// torch/distributed/pipelining/schedules.py.
inline ScheduleShape with_torch_groups(ScheduleShape shape) {
  shape.group_size = shape.num_micro_batches / torch_rounds(shape);
  return shape;
}

} // namespace tessella
