#include "sim/workload/normal_table.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "sim/base/rng.h"

using namespace tessella;

TEST_CASE("each deviate is within 6e-4 of the exact inverse, symmetric, finite") {
  const NormalTable& normal = normal_table();
  double worst = 0.0;
  for (std::uint64_t bits = 0; bits < (1ULL << 31); bits += 1021) {
    const auto b = static_cast<std::uint32_t>(bits);
    const double exact = -inverse_normal_cdf((static_cast<double>(bits) + 0.5) * 0x1.0p-32);
    worst = std::max(worst, std::abs(static_cast<double>(normal(b)) - exact));
    if (normal(b | 0x80000000U) != -normal(b)) FAIL("not symmetric");
  }
  CHECK(worst < 6e-4);
  CHECK(normal(0) == doctest::Approx(6.338).epsilon(1e-3));
  CHECK(normal(0x7fffffffU) < 1e-3F);
}

TEST_CASE("moments over a lattice of all probabilities") {
  const NormalTable& normal = normal_table();
  double m2 = 0.0;
  double m4 = 0.0;
  std::uint64_t n = 0;
  for (std::uint64_t bits = 511; bits < (1ULL << 31); bits += 1024, ++n) {
    const double z = static_cast<double>(normal(static_cast<std::uint32_t>(bits)));
    m2 += z * z;
    m4 += z * z * z * z;
  }
  CHECK(m2 / static_cast<double>(n) == doctest::Approx(1.0).epsilon(1e-4));
  CHECK(m4 / static_cast<double>(n) == doctest::Approx(3.0).epsilon(2e-4));
}
