#include "sim/planner/validate/factor_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace tessella {
namespace {

constexpr double kNoise = 0.1; // what a good model of a kind of run still misses, alike for all runs of the kind
constexpr double kHuber = 1.5; // residuals beyond this many kNoise count linearly
constexpr int kIterations = 30;
constexpr double kWide = 3.0;      // calibration: how much wider than the factor table expects
constexpr double kRunNoise = 0.01; // run-to-run spread of a measured step

// The factors of one stage, the others held at x.
void fit_stage(const std::vector<const FitRun*>& runs, bool of_moe, Eigen::VectorXd& x) {
  const auto n = x.size();
  const auto info = [](Eigen::Index k) { return factor_table()[static_cast<std::size_t>(k)]; };
  const Eigen::VectorXd held = x;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(n, n);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(n);
    for (Eigen::Index k = 0; k < n; ++k) normal(k, k) = 1.0 / (info(k).spread * info(k).spread);
    for (const FitRun* run : runs) {
      Eigen::VectorXd j = Eigen::Map<const Eigen::VectorXd>(run->sensitivity.data(), n);
      double target = run->log_ratio;
      for (Eigen::Index k = 0; k < n; ++k)
        if (info(k).of_moe != of_moe) {
          target -= j(k) * held(k);
          j(k) = 0.0;
        }
      const double residual = std::abs(target - j.dot(x)) / kNoise;
      const double w = run->weight * (residual <= kHuber ? 1.0 : kHuber / residual) / (kNoise * kNoise);
      normal += w * j * j.transpose();
      right += w * target * j;
    }
    const Eigen::VectorXd solved = normal.ldlt().solve(right);
    for (Eigen::Index k = 0; k < n; ++k)
      if (info(k).of_moe == of_moe) x(k) = solved(k);
  }
}

} // namespace

Factors fit_factors(const std::vector<FitRun>& runs) {
  const auto n = static_cast<Eigen::Index>(factor_table().size());
  Eigen::VectorXd x = Eigen::VectorXd::Zero(n);
  for (const bool of_moe : {false, true}) {
    std::vector<const FitRun*> stage;
    for (const FitRun& run : runs)
      if (run.of_moe == of_moe) stage.push_back(&run);
    fit_stage(stage, of_moe, x);
  }
  Factors factors(static_cast<std::size_t>(n));
  for (Eigen::Index k = 0; k < n; ++k) factors[static_cast<std::size_t>(k)] = std::exp(x(k));
  return factors;
}

CalibrationFit fit_calibration(const std::vector<FitRun>& runs) {
  const auto n = static_cast<Eigen::Index>(factor_table().size());
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(n, n);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(n);
  for (Eigen::Index k = 0; k < n; ++k) {
    const double spread = kWide * factor_table()[static_cast<std::size_t>(k)].spread;
    normal(k, k) = 1.0 / (spread * spread);
  }
  for (const FitRun& run : runs) {
    const Eigen::Map<const Eigen::VectorXd> j(run.sensitivity.data(), n);
    normal += j * j.transpose() / (kRunNoise * kRunNoise);
    right += run.log_ratio * j / (kRunNoise * kRunNoise);
  }
  const Eigen::VectorXd x = normal.ldlt().solve(right);
  const Eigen::MatrixXd covariance = normal.ldlt().solve(Eigen::MatrixXd::Identity(n, n));
  CalibrationFit fit;
  for (Eigen::Index k = 0; k < n; ++k) fit.factors.push_back(std::exp(x(k)));
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index k = 0; k < n; ++k) fit.covariance.push_back(covariance(i, k));
  return fit;
}

double log_spread(const CalibrationFit& fit, const std::vector<double>& sensitivity) {
  const auto n = static_cast<Eigen::Index>(fit.factors.size());
  const Eigen::Map<const Eigen::MatrixXd> covariance(fit.covariance.data(), n, n); // symmetric: either order
  const Eigen::Map<const Eigen::VectorXd> j(sensitivity.data(), n);
  return std::sqrt(std::max(0.0, j.dot(covariance * j)) + kRunNoise * kRunNoise);
}

} // namespace tessella
