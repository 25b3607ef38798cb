#include "calib/protocol/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace tessella::calib {
namespace {

constexpr double kMadToSigma = 1.4826; // of a normal distribution
constexpr double kOutlierSigmas = 5.0;
constexpr std::size_t kFewestForInterval = 6; // below, the interval would need samples that do not exist

double median_of_sorted(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

double half_width(const std::vector<double>& sorted, double median) {
  const std::size_t n = sorted.size();
  if (n < kFewestForInterval || median <= 0.0) return std::numeric_limits<double>::infinity();
  const double count = static_cast<double>(n);
  const double reach = 1.96 * std::sqrt(count);
  const double low = std::max(1.0, std::floor((count - reach) / 2.0)); // ranks from 1
  const double high = std::min(count, std::ceil((count + reach) / 2.0) + 1.0);
  const double width = sorted[static_cast<std::size_t>(high) - 1] - sorted[static_cast<std::size_t>(low) - 1];
  return 0.5 * width / median;
}

} // namespace

double median(std::span<const double> samples) {
  if (samples.empty()) return 0.0;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return median_of_sorted(sorted);
}

Summary summary_of(std::span<const double> samples) {
  if (samples.empty()) return {};
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  Summary s;
  s.n = static_cast<std::int64_t>(sorted.size());
  s.median = median_of_sorted(sorted);
  s.ci95 = half_width(sorted, s.median);
  std::vector<double> deviations;
  deviations.reserve(sorted.size());
  for (const double x : sorted) deviations.push_back(std::abs(x - s.median));
  std::sort(deviations.begin(), deviations.end());
  s.mad = median_of_sorted(deviations);
  const double limit = kOutlierSigmas * kMadToSigma * s.mad;
  s.outliers = std::count_if(deviations.begin(), deviations.end(), [limit](double d) { return d > limit; });
  return s;
}

} // namespace tessella::calib
