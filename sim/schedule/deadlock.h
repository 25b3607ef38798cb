// Runs the ranks of a complete schedule in order, without time, until all lists are done or nobody can move.
#pragma once

#include <optional>

#include "sim/domain/schedule.h"
#include "sim/schedule/slot_index.h"
#include "sim/schedule/validate.h"

namespace tessella {

// The circle of waiting ranks, if there is one. Every action must occur exactly once. O(actions + p^2).
std::optional<ScheduleProblem> find_deadlock(const Schedule& schedule, const SlotIndex& index,
                                             const std::optional<ReceiveBuffers>& buffers);

} // namespace tessella
