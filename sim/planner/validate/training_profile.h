// From a profile of kernels to a profile of training: the factors that measured runs taught, and how far predictions
// were from runs that did not teach them. `tessella run` with such a profile predicts as `tessella validate` does, and
// states an interval.
#pragma once

#include <optional>
#include <string>

#include "sim/domain/profile.h"
#include "sim/domain/validation.h"

namespace tessella {

// Whether measured runs taught it, so that it must not be judged on them.
bool knows_training_runs(const Profile& profile);

struct TrainingProfileSpec {
  std::string name;                    // of the new profile
  std::string runs;                    // where the measured runs are from; goes into every source
  std::optional<std::string> left_out; // the group that must not have taught it
};

// Entries that a factor moves become `derived`, and their source says by how much and why; residuals stay those of the
// kernels. Kernels of MoE layers get the host time that validation gives them. Rows `step_dense` and `step_moe` hold
// the residuals of whole steps over the judged runs of the GPU's class, each predicted without its own group, and over
// none of `left_out`. Throws InputError when no run of the report has that group. O(entries + rows log rows).
Profile training_profile(const Profile& kernels, const ValidationReport& report, const TrainingProfileSpec& spec);

} // namespace tessella
