// What the bubble filler did: sums over ranks, for one replica or a whole run.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/base/units.h"

namespace tessella {

struct FillSums {
  Duration filled;            // idle time that deferred and early work used on the compute lane
  Duration overrun;           // by which fills made their rank late
  Duration early;             // recomputation, hashing and copies done before their place, alone on the GPU
  std::int64_t fills = 0;     // tasks run in idle time
  std::int64_t deferred = 0;  // tasks that left their place in the plan
  std::int64_t forced = 0;    // of those, tasks left over at the end of the actions
  std::int64_t pool_peak = 0; // most tasks a rank held
  std::int64_t pool_peak_bytes = 0;

  FillSums& operator+=(const FillSums& o) {
    filled += o.filled;
    overrun += o.overrun;
    early += o.early;
    fills += o.fills;
    deferred += o.deferred;
    forced += o.forced;
    pool_peak = std::max(pool_peak, o.pool_peak);
    pool_peak_bytes = std::max(pool_peak_bytes, o.pool_peak_bytes);
    return *this;
  }
  bool operator==(const FillSums&) const = default;
};

} // namespace tessella
