// Which pipeline position runs an action: schedules with two directions hold a stage twice, so it depends on the
// micro-batch.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/domain/schedule.h"

namespace tessella {

// [stage * micro-batches + micro-batch] -> position. Every (stage, micro-batch) must have a forward. O(slots).
std::vector<std::int16_t> owners(const Schedule& schedule);

} // namespace tessella
