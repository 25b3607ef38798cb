// What ZB-H1, ZB-H2 and the interleaved zero-bubble schedule share.
#pragma once

#include "sim/schedule/generators.h"

namespace tessella {

// One rank: `warmup` forwards (clipped to m*v), then for k = 0, 1, ...: the next forward if there is one, I(k), and
// from k = delay on W(k - delay); then the remaining W. k runs over the table of virtual micro-batches
// (interleaving.h).
std::vector<Slot> zero_bubble_rank(const ScheduleShape& shape, std::int32_t rank, std::int32_t warmup,
                                   std::int32_t delay);

} // namespace tessella
