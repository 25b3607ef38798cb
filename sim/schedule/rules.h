// Which numbers of micro-batches each schedule takes, and that rule in words. The shape's other numbers are legal.
#pragma once

#include <string>

#include "sim/schedule/generators.h"

namespace tessella {

// At least one.
bool any_micro_batches(const ScheduleShape& shape);
std::string any_micro_batches_rule(const ScheduleShape& shape);

// Megatron: m >= N, and m mod N is 0 or at least p (a shorter last group must still fill the pipeline).
bool megatron_groups(const ScheduleShape& shape);
std::string megatron_groups_rule(const ScheduleShape& shape);

} // namespace tessella
