// Calibrate on a few short runs, predict long ones on the same machine: the named factors are fitted to the short runs,
// with the profile as the expectation, and the long runs are simulated with them. A straight line through two points
// knows nothing of a bubble or of an optimizer step; the simulation does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/planner/validate/factors.h"
#include "sim/planner/validate/validate.h"

namespace tessella {

struct CalibratedRun {
  std::string id;
  std::string reason; // why it could not be used; then nothing else is set
  std::optional<double> measured_s;
  double raw_s = 0.0;       // with the profile as it is
  double predicted_s = 0.0; // with the fitted factors
  double low_s = 0.0;       // 5 to 95 %: what the fit leaves open, and 1 % from run to run
  double high_s = 0.0;
};

struct CalibrationReport {
  Factors factors;                      // in the order of factor_table()
  std::vector<CalibratedRun> measured;  // the short runs, whose residuals show how well the factors fit
  std::vector<CalibratedRun> predicted; // the long ones
};

// Models and profiles come from `input`, whose runs are the short ones. Throws InputError when no short run can be
// used.
CalibrationReport calibrate(const ValidationInput& input, std::span<const MeasuredRun> predict, const ForEach& each);

} // namespace tessella
