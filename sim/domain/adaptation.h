// How a job adapts while it runs: experts that move, and plans that are made anew when the profile no longer holds.
// Plain values; sim/planner/expert_migration.h and sim/planner/over_time.h act on them.
#pragma once

#include <cstdint>

#include "sim/base/units.h"

namespace tessella {

enum class MigrationMethod : std::uint8_t {
  none,
  swap,      // Piper: swaps between the most and the least loaded rank
  replicate, // EPLB: a new placement with redundant slots for the busiest experts
};

// Judged before each step on the expert loads of the step before, per MoE layer.
struct ExpertMigrationSpec {
  MigrationMethod method = MigrationMethod::none;
  double trigger = 1.2;       // max / mean over the EP ranks beyond which the experts of a layer move
  std::int64_t every = 1;     // steps between two looks
  std::int64_t max_swaps = 4; // swap: per layer and look
  std::int64_t redundant = 1; // replicate: further slots per rank
  bool operator==(const ExpertMigrationSpec&) const = default;
};

// The plan is made anew when the slowest stage's observed time has differed from the planned one by more than
// `tolerance` for `patience` steps in a row.
struct ReplanSpec {
  bool on = false;
  double tolerance = 0.05;
  std::int64_t patience = 3;
  Duration profiling; // the job stands still while the costs are measured,
  Duration planning;  // and while the plan is made
  bool operator==(const ReplanSpec&) const = default;
};

} // namespace tessella
