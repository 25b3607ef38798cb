// Schedules side by side, as a table and as JSON.
#pragma once

#include <string>

#include "sim/domain/schedule_comparison.h"

namespace tessella {

// The basis in words, one row per schedule, the fastest that fits marked; fastest by tokens per second and GPU, since
// equal stages mean different numbers of GPUs.
std::string schedules_text(const ScheduleComparison& comparison);
std::string schedules_json(const ScheduleComparison& comparison);

} // namespace tessella
