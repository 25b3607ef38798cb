// Schedules side by side on one basis: what each costs in time, bubble and memory. sim/planner/compare_schedules.h
// makes it, sim/report/schedules_text.h renders it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"

namespace tessella {

// What is the same for every schedule. Devices: the ranks; each schedule cuts the model into as many stages per rank as
// it needs. Stages: the cut; a schedule that needs two stages per rank then takes half the ranks of one that needs one.
// The data-parallel size, and with it the micro-batches of a step, are the same either way.
enum class ComparisonBasis { devices, stages };

struct ScheduleRow {
  std::string name;
  std::string problem; // why it cannot run, with the nearest that can; empty: it ran
  std::int64_t world_size = 0;
  std::int64_t pp = 0;
  std::int64_t vpp = 0;
  bool given_layout = false; // the experiment's; else balanced by FLOPs
  Duration step_time;
  double tokens_per_s_per_gpu = 0.0;
  double bubble = 0.0;  // share of the step, mean of all ranks
  double exposed = 0.0; // communication nobody computes beside
  Bytes peak_memory;
  bool fits = true;
  double in_flight = 0.0;   // activations at the peak, in micro-batches of a whole rank
  std::int64_t weights = 1; // copies of each stage
};

struct ScheduleComparison {
  std::string experiment;
  ComparisonBasis basis = ComparisonBasis::devices;
  std::int64_t num_stages = 0;
  std::int64_t world_size = 0;
  std::int64_t num_micro_batches = 0;
  std::vector<ScheduleRow> rows; // in the order asked for
};

} // namespace tessella
