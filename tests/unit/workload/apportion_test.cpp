#include "sim/workload/apportion.h"

#include <doctest/doctest.h>

#include <vector>

using namespace tessella;

namespace {

using Rows = std::vector<std::int32_t>;

Rows apportioned(std::int64_t total, const std::vector<double>& weights) {
  Rows out(weights.size());
  apportion(total, weights, out);
  return out;
}

} // namespace

TEST_CASE("largest remainder") {
  CHECK(apportioned(10, {1, 1, 1, 1}) == Rows{3, 3, 2, 2});
  CHECK(apportioned(100, {47, 16, 15.8, 12, 6.1, 3.1}) == Rows{47, 16, 16, 12, 6, 3});
  CHECK(apportioned(0, {1, 2}) == Rows{0, 0});
  CHECK(apportioned(5, {0, 1, 0}) == Rows{0, 5, 0});
}

TEST_CASE("equal weights get equal shares exactly, also where they are not exact in binary") {
  CHECK(apportioned(64 * 40960, std::vector<double>(64, 0.1)) == Rows(64, 40960));
  CHECK(apportioned(7 * 12345, std::vector<double>(7, 1.0 / 3.0)) == Rows(7, 12345));
}
