// One row of `tessella compare --presets`. Made by sim/planner/presets.h, rendered by sim/report/preset_text.h.
#pragma once

#include <optional>
#include <string>

#include "sim/base/units.h"

namespace tessella {

struct PresetRow {
  std::string name;
  std::optional<std::string> problem; // why it cannot run; then nothing below counts
  std::string schedule;
  std::string layout;
  Duration step_time;
  double mfu = 0.0;
  double bubble = 0.0;  // fractions of the step, mean over ranks
  double exposed = 0.0; // communication of every kind
  double exposed_ep = 0.0;
  Bytes peak;           // memory of the fullest rank
  Bytes capacity;       // of a GPU
  Duration lower_bound; // of the preset's schedule, over all partitions
  bool operator==(const PresetRow&) const = default;

  bool fits() const { return peak <= capacity; }
  double gap() const; // (step - bound) / bound
};

} // namespace tessella
