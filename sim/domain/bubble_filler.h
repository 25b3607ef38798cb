// What a user asks of the bubble filler: which policy defers weight gradients into idle time, and what it may cost.
// The policies themselves are rows of sim/exec/fill_policies.h.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/units.h"

namespace tessella {

struct BubbleFillerSpec {
  std::string policy = "none";
  std::int64_t pool = 8;              // deferred weight gradients a GPU may hold
  Duration decision_cost{10'000'000}; // of one decision, on the compute lane: 10 us
  bool operator==(const BubbleFillerSpec&) const = default;
};

} // namespace tessella
