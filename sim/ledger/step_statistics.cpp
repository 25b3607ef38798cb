#include "sim/ledger/step_statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessella {
namespace {

// Autocovariance at a lag of values around their mean, divided by n.
double autocovariance(const std::vector<double>& x, std::size_t lag) {
  double sum = 0.0;
  for (std::size_t i = 0; i + lag < x.size(); ++i) sum += x[i] * x[i + lag];
  return sum / static_cast<double>(x.size());
}

} // namespace

double student_95(double degrees_of_freedom) {
  if (degrees_of_freedom < 2.0) return 12.706;
  if (degrees_of_freedom < 3.0) return 4.303;
  constexpr double z = 1.959964;
  const double n = degrees_of_freedom;
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  const double z7 = z5 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

MeanEstimate estimate_mean(std::span<const Duration> steps) {
  MeanEstimate e;
  if (steps.empty()) return e;
  const auto n = static_cast<std::int64_t>(steps.size());
  Duration total;
  for (const Duration d : steps) total += d;
  e.mean = {(total.ps + n / 2) / n};
  if (n < 2) return e;
  std::vector<double> x;
  for (const Duration d : steps) x.push_back(static_cast<double>((d - e.mean).ps));
  const double variance = autocovariance(x, 0);
  if (variance == 0.0) return e;
  for (std::size_t lag = 1; lag <= steps.size() / 4; ++lag) {
    const double rho = autocovariance(x, lag) / variance;
    if (rho <= 0.0) break;
    e.correlation_steps += 2.0 * rho;
  }
  const double independent = std::max(1.0, static_cast<double>(n) / e.correlation_steps);
  const double unbiased = variance * static_cast<double>(n) / static_cast<double>(n - 1);
  e.half_width = {std::llround(student_95(independent - 1.0) * std::sqrt(unbiased / independent))};
  return e;
}

} // namespace tessella
