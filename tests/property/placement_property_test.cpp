// Laws of expert placements on random loads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/rng.h"
#include "sim/planner/search/expert_placement.h"

using namespace tessella;

namespace {

std::vector<double> random_load(std::uint64_t seed, std::size_t experts) {
  const Stream stream(seed, Purpose::test);
  std::vector<double> load;
  for (std::uint64_t e = 0; e < experts; ++e) load.push_back(std::floor(100.0 * std::exp(stream.normal(e))));
  return load;
}

double highest(const std::vector<double>& loads) {
  return *std::max_element(loads.begin(), loads.end());
}

// The best maximum over all placements of 6 experts on 3 GPUs.
double best_of_all(const std::vector<double>& load) {
  std::vector<std::int32_t> order(load.size());
  std::iota(order.begin(), order.end(), 0);
  double best = std::accumulate(load.begin(), load.end(), 0.0);
  do best = std::min(best, highest(gpu_loads({3, order}, load)));
  while (std::next_permutation(order.begin(), order.end()));
  return best;
}

} // namespace

TEST_CASE("Every expert is placed, no load is lost, and the bound is below") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const std::vector<double> load = random_load(seed, 32);
    const double total = std::accumulate(load.begin(), load.end(), 0.0);
    const EplbShape shape{32 + 8 * static_cast<std::int32_t>(seed % 4), 4, 2, 8};
    const ExpertPlacement p = eplb(load, shape);
    for (std::int32_t e = 0; e < 32; ++e) REQUIRE(std::count(p.expert_at.begin(), p.expert_at.end(), e) >= 1);
    const std::vector<double> loads = gpu_loads(p, load);
    REQUIRE(std::accumulate(loads.begin(), loads.end(), 0.0) == doctest::Approx(total));
    REQUIRE(placement_gap(p, load) >= -1e-12);
    REQUIRE(placement_gap(contiguous_placement(32, 8), load) >= -1e-12);
  }
}

TEST_CASE("The bound never exceeds the optimum, and is met often") {
  int met = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::vector<double> load = random_load(seed, 6);
    const double best = best_of_all(load);
    const double bound = placement_lower_bound(load, 6, 3);
    CAPTURE(seed);
    REQUIRE(bound <= best + 1e-9);
    met += std::abs(bound - best) < 1e-9 ? 1 : 0;
  }
  CHECK(met > 20);
}

TEST_CASE("Hill climbing only improves, and stops at zero swaps when nothing helps") {
  int improved = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const std::vector<double> load = random_load(seed, 64);
    const ExpertPlacement start = contiguous_placement(64, 16);
    const double before = highest(gpu_loads(start, load));
    double last = before;
    for (const std::int32_t swaps : {0, 1, 4, 100}) {
      const Migration m = migrate(start, load, swaps);
      const double after = highest(gpu_loads(m.placement, load));
      REQUIRE(after <= last);
      REQUIRE(m.swaps <= swaps);
      REQUIRE(m.moved_per_gpu <= std::min(m.swaps, 4));
      last = after;
    }
    improved += last < before ? 1 : 0;
  }
  CHECK(improved > 190);
  const std::vector<double> even(64, 5.0);
  CHECK(migrate(contiguous_placement(64, 16), even, 100).swaps == 0);
}

TEST_CASE("A migration pays only when what it saves exceeds what it moves") {
  const Bytes expert = expert_state(7168, 2048); // 0.70 GB: 14 ms at 50 GB/s
  const Bandwidth bandwidth{50e9};
  const auto test = migration_test(2, expert, bandwidth, Duration{1'000'000'000}, 100); // 1 ms for 100 steps
  CHECK(test.cost == expert * 2 / bandwidth);
  CHECK(test.worthwhile());
  CHECK_FALSE(migration_test(2, expert, bandwidth, Duration{1'000'000'000}, 20).worthwhile());
}
