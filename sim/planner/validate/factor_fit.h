// Fits the global factors to measured runs: robust, regularised least squares in logarithms around a linearisation.
//
//   minimise  sum_i w_i rho((log measured_i - log predicted_i - J_i x) / kNoise) + sum_k (x_k / spread_k)^2
//
// with x = log(factors), rho Huber's loss, J_i the sensitivities of run i, and w_i = 1 / sqrt(runs of its cell), so
// that a series of forty like runs does not outvote the rest. O(iterations * runs * factors^2).
#pragma once

#include <vector>

#include "sim/planner/validate/factors.h"

namespace tessella {

struct FitRun {
  double log_ratio = 0.0;          // log(measured / predicted with neutral factors)
  std::vector<double> sensitivity; // d log(predicted) / d log(factor)
  double weight = 1.0;
  bool of_moe = false;
};

// Neutral factors when there is nothing to fit.
Factors fit_factors(const std::vector<FitRun>& runs);

// All factors at once to a few runs of the very stack that is asked about: spreads three times as wide, noise 1 %.
struct CalibrationFit {
  Factors factors;
  std::vector<double> covariance; // of log(factors), row by row
};
CalibrationFit fit_calibration(const std::vector<FitRun>& runs);

// Standard deviation of log(predicted) that the fit leaves.
double log_spread(const CalibrationFit& fit, const std::vector<double>& sensitivity);

} // namespace tessella
