#include "sim/workload/binomial.h"

#include <algorithm>
#include <cmath>

namespace tessella {
namespace {

// Sequential search from 0; expected n p steps.
std::int64_t by_inversion(const Stream& stream, std::int64_t n, double p) {
  const double odds = p / (1.0 - p);
  double probability = std::exp(static_cast<double>(n) * std::log1p(-p));
  double u = stream.uniform(0);
  std::int64_t k = 0;
  while (u > probability && k < n) {
    u -= probability;
    ++k;
    probability *= odds * static_cast<double>(n - k + 1) / static_cast<double>(k);
  }
  return k;
}

// log(k!) minus Stirling's main terms.
double stirling_tail(double k) {
  constexpr double small[] = {0.08106146679532726,  0.04134069595540929, 0.02767792568499834, 0.02079067210376509,
                              0.01664469118982119,  0.01387612882307075, 0.01189670994589177, 0.01041126526197209,
                              0.009255462182712733, 0.008330563433362871};
  if (k < 10.0) return small[static_cast<std::size_t>(k)];
  const double k1 = k + 1.0;
  return (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / (k1 * k1)) / (k1 * k1)) / k1;
}

// p <= 1/2, n p >= 10.
std::int64_t by_rejection(const Stream& stream, std::int64_t trials, double p) {
  const auto n = static_cast<double>(trials);
  const double deviation = std::sqrt(n * p * (1.0 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = n * p + 0.5;
  const double v_r = 0.92 - 4.2 / b;
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double odds = p / (1.0 - p);
  const double m = std::floor((n + 1.0) * p);
  for (std::uint64_t draw = 0;; draw += 2) {
    const double u = stream.uniform(draw) - 0.5;
    double v = stream.uniform(draw + 1);
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2.0 * a / us + b) * u + c);
    if (us >= 0.07 && v <= v_r) return static_cast<std::int64_t>(k);
    if (k < 0.0 || k > n) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double bound = (m + 0.5) * std::log((m + 1.0) / (odds * (n - m + 1.0))) +
                         (n + 1.0) * std::log((n - m + 1.0) / (n - k + 1.0)) +
                         (k + 0.5) * std::log(odds * (n - k + 1.0) / (k + 1.0)) + stirling_tail(m) +
                         stirling_tail(n - m) - stirling_tail(k) - stirling_tail(n - k);
    if (v <= bound) return static_cast<std::int64_t>(k);
  }
}

} // namespace

std::int64_t binomial(const Stream& stream, std::int64_t n, double p) {
  if (n <= 0 || p <= 0.0) return 0;
  if (p >= 1.0) return n;
  const bool flip = p > 0.5;
  const double q = flip ? 1.0 - p : p;
  const std::int64_t k = static_cast<double>(n) * q < 10.0 ? by_inversion(stream, n, q) : by_rejection(stream, n, q);
  return flip ? n - k : k;
}

} // namespace tessella
