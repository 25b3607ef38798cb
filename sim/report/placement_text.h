// The table of `tessella experts`, and its JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sim/base/units.h"
#include "sim/domain/placement_row.h"

namespace tessella {

// Is moving to the migrated placement worth its all-to-all?
struct MigrationVerdict {
  Duration step_before; // contiguous
  Duration step_after;
  Duration cost; // one all-to-all of expert state
  std::int64_t remaining_steps = 1;
  bool operator==(const MigrationVerdict&) const = default;

  Duration benefit() const { return (step_before - step_after) * remaining_steps; }
  bool worthwhile() const { return benefit() > cost; }
  // Of the step time, when migrating once in so many steps.
  double overhead(std::int64_t every) const {
    return cost.seconds() / (step_after.seconds() * static_cast<double>(every));
  }
};

struct PlacementReport {
  std::string name;
  std::int32_t experts = 0;
  std::int32_t gpus = 0;
  std::int32_t replicas = 0;
  bool global_policy = false; // EPLB forgot nodes and groups, because these do not divide
  std::optional<MigrationVerdict> verdict;
};

std::string placement_text(const PlacementReport& report, std::span<const PlacementRow> rows);
// Ends with a newline.
std::string placement_json(const PlacementReport& report, std::span<const PlacementRow> rows);

} // namespace tessella
