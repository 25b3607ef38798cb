// The interval of a mean against textbook values and against series whose correlation is known.
#include "sim/ledger/step_statistics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "sim/base/rng.h"

using namespace tessella;

namespace {

// AR(1) around one second: x' = phi x + noise; correlation time (1 + phi) / (1 - phi).
std::vector<Duration> series(double phi, std::size_t n, std::uint64_t seed) {
  const Stream stream(seed, Purpose::test);
  std::vector<Duration> out;
  double x = stream.normal(0);
  const double noise = std::sqrt(1.0 - phi * phi);
  for (std::size_t i = 0; i < n; ++i) {
    out.push_back(round_to_picoseconds(1.0 + 0.01 * x));
    x = phi * x + noise * stream.normal(i + 1);
  }
  return out;
}

// How often the interval holds the true mean of one second, of 400 series.
double coverage(double phi, std::size_t n) {
  int hits = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const MeanEstimate e = estimate_mean(series(phi, n, seed));
    if (std::abs(e.mean.seconds() - 1.0) <= e.half_width.seconds()) ++hits;
  }
  return hits / 400.0;
}

} // namespace

TEST_CASE("Student's quantiles are the tabled ones") {
  CHECK(student_95(1) == doctest::Approx(12.706).epsilon(0.001));
  CHECK(student_95(2) == doctest::Approx(4.303).epsilon(0.001));
  CHECK(student_95(4) == doctest::Approx(2.776).epsilon(0.01));
  CHECK(student_95(9) == doctest::Approx(2.262).epsilon(0.01));
  CHECK(student_95(29) == doctest::Approx(2.045).epsilon(0.002));
  CHECK(student_95(1e9) == doctest::Approx(1.960).epsilon(0.001));
}

TEST_CASE("One step, or equal steps, have no spread") {
  CHECK(estimate_mean(std::vector<Duration>{{7}}).half_width == Duration{});
  CHECK(estimate_mean(std::vector<Duration>{{7}, {7}, {7}}).half_width == Duration{});
  CHECK(estimate_mean(std::vector<Duration>{{7}, {7}, {7}}).mean == Duration{7});
}

TEST_CASE("Intervals hold the mean about as often as they say, also of drifting routing") {
  CHECK(coverage(0.0, 100) > 0.92);
  CHECK(coverage(0.0, 100) < 0.98);
  CHECK(coverage(0.92, 1000) > 0.90);
  // Taken for independent, such steps would be held by fewer than half of the intervals.
  const MeanEstimate drifting = estimate_mean(series(0.92, 1000, 1));
  CHECK(drifting.correlation_steps > 8.0);
  CHECK(drifting.correlation_steps < 60.0); // 24 in truth
}
