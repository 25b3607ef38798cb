#include "sim/planner/factor_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace tessella {
namespace {

constexpr double kNoise = 0.05; // what a good model of a run still misses
constexpr double kHuber = 1.5;  // residuals beyond this many kNoise count linearly
constexpr int kIterations = 30;

} // namespace

Factors fit_factors(const std::vector<FitRun>& runs) {
  const auto n = static_cast<Eigen::Index>(factor_table().size());
  Eigen::VectorXd x = Eigen::VectorXd::Zero(n);
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(n, n);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(n);
    for (Eigen::Index k = 0; k < n; ++k) {
      const double spread = factor_table()[static_cast<std::size_t>(k)].spread;
      normal(k, k) = 1.0 / (spread * spread);
    }
    for (const FitRun& run : runs) {
      const Eigen::Map<const Eigen::VectorXd> j(run.sensitivity.data(), n);
      const double residual = std::abs(run.log_ratio - j.dot(x)) / kNoise;
      const double w = run.weight * (residual <= kHuber ? 1.0 : kHuber / residual) / (kNoise * kNoise);
      normal += w * j * j.transpose();
      right += w * run.log_ratio * j;
    }
    x = normal.ldlt().solve(right);
  }
  Factors factors(static_cast<std::size_t>(n));
  for (Eigen::Index k = 0; k < n; ++k) factors[static_cast<std::size_t>(k)] = std::exp(x(k));
  return factors;
}

} // namespace tessella
