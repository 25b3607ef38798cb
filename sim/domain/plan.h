// The plan: which layers each stage holds, and the schedule that runs them. Later planners add pair interleavings,
// fill slots and expert placement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessella {

// What one stage holds. Decoder layers are the half-open range [first_layer, first_layer + num_layers).
struct StageContent {
  std::int32_t first_layer = 0;
  std::int32_t num_layers = 0;
  std::int32_t mtp_layers = 0;
  bool embedding = false;
  bool loss = false; // final norm, output head and loss
  bool operator==(const StageContent&) const = default;

  bool empty() const { return num_layers == 0 && mtp_layers == 0 && !embedding && !loss; }
};

// Stage s runs on pipeline rank s mod PP as chunk s / PP (Megatron's order).
struct Partition {
  std::vector<StageContent> stages;
  bool operator==(const Partition&) const = default;
};

// Megatron's --pipeline-model-parallel-layout string for a partition, e.g. "Et|(tt|)*30mL" (runs folded).
std::string to_layout(const Partition& partition);

} // namespace tessella
