// How well the mean of a series of step times is known. Steps are correlated because routing drifts, so the variance of
// the mean is that of independent steps times the integrated autocorrelation time, summed up to the first lag that is
// not positive (Geyer's initial positive sequence, with single lags).
#pragma once

#include <cstddef>
#include <span>

#include "sim/base/units.h"

namespace tessella {

struct MeanEstimate {
  Duration mean;
  Duration half_width;          // of the 95 % confidence interval; 0 for fewer than two steps
  double correlation_steps = 1; // steps that carry the information of one independent step
};

// O(steps * lags), lags at most a quarter of the steps.
MeanEstimate estimate_mean(std::span<const Duration> steps);

// Student's two-sided 95 % quantile; exact to 1 % from 3 degrees of freedom on (Cornish-Fisher), tabled below.
double student_95(double degrees_of_freedom);

} // namespace tessella
