#include "sim/workload/binomial.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace tessella;

namespace {

constexpr std::uint64_t kDraws = 40'000;

double log_probability(double n, double p, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) + (n - k) * std::log1p(-p);
}

// Pearson's chi square over the values expected at least 20 times, minus its degrees of freedom, in standard
// deviations.
double excess_chi_square(std::int64_t n, double p) {
  std::vector<double> seen(static_cast<std::size_t>(n) + 1, 0.0);
  const Stream stream(42, Purpose::test, static_cast<std::uint64_t>(n));
  for (std::uint64_t i = 0; i < kDraws; ++i) ++seen[static_cast<std::size_t>(binomial(stream.substream(i), n, p))];
  double chi = 0.0;
  double cells = 0.0;
  for (std::int64_t k = 0; k <= n; ++k) {
    const double expected =
        static_cast<double>(kDraws) * std::exp(log_probability(static_cast<double>(n), p, static_cast<double>(k)));
    if (expected < 20.0) continue;
    chi += std::pow(seen[static_cast<std::size_t>(k)] - expected, 2) / expected;
    cells += 1.0;
  }
  return (chi - cells) / std::sqrt(2.0 * cells);
}

} // namespace

TEST_CASE("the distribution is the binomial, by inversion and by rejection") {
  CHECK(std::abs(excess_chi_square(20, 0.3)) < 4.0);  // inversion
  CHECK(std::abs(excess_chi_square(100, 0.4)) < 4.0); // rejection
  CHECK(std::abs(excess_chi_square(60, 0.8)) < 4.0);  // mirrored
  CHECK(std::abs(excess_chi_square(5'000, 0.004)) < 4.0);
}

TEST_CASE("large counts: mean and variance") {
  const std::int64_t n = 2'621'440;
  const double p = 0.002;
  const Stream stream(7, Purpose::test);
  double sum = 0.0;
  double squares = 0.0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double d = static_cast<double>(binomial(stream.substream(i), n, p)) - static_cast<double>(n) * p;
    sum += d;
    squares += d * d;
  }
  const double variance = static_cast<double>(n) * p * (1.0 - p);
  CHECK(std::abs(sum / static_cast<double>(kDraws)) < 4.0 * std::sqrt(variance / static_cast<double>(kDraws)));
  CHECK(squares / static_cast<double>(kDraws) == doctest::Approx(variance).epsilon(0.03));
}

TEST_CASE("edges") {
  const Stream stream(1, Purpose::test);
  CHECK(binomial(stream, 0, 0.5) == 0);
  CHECK(binomial(stream, 10, 0.0) == 0);
  CHECK(binomial(stream, 10, 1.0) == 10);
  CHECK(binomial(stream, 1'000'000, 1e-12) == 0);
  CHECK(binomial(stream, 1'000'000, 1.0 - 1e-12) == 1'000'000);
}
