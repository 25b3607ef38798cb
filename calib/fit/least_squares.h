// Fits the parameters of a kernel form to measured times: Levenberg-Marquardt on log(predicted / measured) with
// logarithmic parameters, so that a microsecond and a second weigh the same and no parameter turns negative.
// Large residuals count linearly (pseudo-Huber), because published tables contain kernels that a library chose badly.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/domain/profile.h"

namespace tessella::calib {

// One measurement. `shape` decides by hash whether it is held out, so equal shapes stay together.
struct Sample {
  std::string shape;
  std::string bucket; // rows of the residual summary
  double seconds = 0.0;
};

// Which samples are held out: the fifth of the shapes with the lowest hash, at least one; so equal shapes stay
// together, and neither order nor repetition of the rows matters.
std::vector<bool> held_out(const std::vector<Sample>& samples);

struct FitProblem {
  ProfileEntry start;                // form and starting values, SI; fixed parameters stay as they are
  std::vector<std::string> free;     // parameters to fit
  std::vector<std::string> nuisance; // also fitted, but part of the measurement only
  std::vector<Sample> samples;
  std::function<double(const ProfileEntry&, std::size_t)> predict; // seconds of sample i
  std::string about;                                               // for messages: "gemm bf16 (aic_gemm_hopper.csv)"
};

struct BucketError {
  std::string bucket;
  bool held_out = false;
  double error = 0.0; // predicted / measured - 1
};

struct FitResult {
  ProfileEntry entry;              // with the residual on held-out samples
  ProfileEntry measured;           // the same with the nuisance parameters, as fitted
  std::vector<BucketError> errors; // in the order of the samples
  bool own_gpu = false;            // the rows are of this very GPU, whatever the note of its tables says
};

// Throws InputError when there are fewer than two training samples per parameter, or when the data do not determine a
// parameter (its standard error exceeds a factor of two): such a fit is refused.
FitResult fit(const FitProblem& problem);

// Errors of an entry that was not fitted here (derived or published); the residual counts all samples.
FitResult evaluate(const FitProblem& problem);

// Median and 95th percentile of |error| (nearest rank).
Residual summarize(const std::vector<double>& errors);

} // namespace tessella::calib
