// Hill climbing on step time by moving one layer from a stage to another, the boundaries between them shifting along.
// All moves are ranked by the in-order replay with post-overlap costs, the most promising ones are simulated, the best
// is taken while it helps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/base/units.h"
#include "sim/domain/plan.h"

namespace tessella {

struct Refinement {
  Partition partition;
  Duration step_time;
  std::int64_t simulations = 0;
  bool operator==(const Refinement&) const = default;
};

struct RefineCosts {
  // Cheap and approximate; nothing: not allowed (memory).
  std::function<std::optional<Duration>(const Partition&)> estimate;
  // The truth, for several partitions at once.
  std::function<std::vector<Duration>(const std::vector<Partition>&)> simulate;
};

// Every partition that moves one layer from one stage to another. A stage keeps at least one layer, unless some stage
// of `from` is empty. O(stages^2).
std::vector<Partition> one_layer_moves(const Partition& from);

Refinement refine(const Partition& start, Duration start_time, const RefineCosts& costs, std::int32_t rounds,
                  std::size_t simulated_per_round = 6);

} // namespace tessella
