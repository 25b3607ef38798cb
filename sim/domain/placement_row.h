// One MoE layer of `tessella experts`. Made by sim/planner/search/placement_study.h, rendered by
// sim/report/placement_text.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tessella {

// Loads are max / mean over the GPUs of an EP group.
struct PlacementRow {
  // Without replicas, every GPU holding equally many experts.
  struct Moved {
    double contiguous = 1.0; // where every framework starts
    double migrated = 1.0;   // hill climbing from there
    double bound = 1.0;      // no placement is below
    std::int32_t swaps = 0;
    std::int32_t moved_per_gpu = 0;      // most experts that any GPU receives
    std::vector<std::int32_t> expert_at; // [slot] after migration
    bool operator==(const Moved&) const = default;
  };
  double eplb = 1.0;
  double eplb_bound = 1.0;           // no placement with these replicas is below
  std::vector<std::int32_t> eplb_at; // [slot] expert
  std::optional<Moved> moved;        // nothing when the GPUs do not divide the experts
  bool operator==(const PlacementRow&) const = default;
};

} // namespace tessella
