// Max-min fairness on random systems: no capacity exceeded, nobody can gain, and more capacity never hurts the least.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/base/rng.h"
#include "sim/engine/fair_share.h"

using namespace tessella;

namespace {

struct System {
  std::vector<double> capacities;
  std::vector<std::vector<ResourceUse>> users;
};

System random_system(std::uint64_t seed) {
  const Stream s(seed, Purpose::test, 1);
  std::uint64_t at = 0;
  const auto below = [&](std::uint64_t n) { return s.word(at++) % n; };
  System system;
  const std::uint64_t links = 1 + below(30);
  for (std::uint64_t i = 0; i < links; ++i)
    system.capacities.push_back(below(3) == 0 ? 1.0 : 0.1 + 10.0 * s.uniform(at++));
  const std::uint64_t users = below(60);
  for (std::uint64_t u = 0; u < users; ++u) {
    system.users.emplace_back();
    const std::uint64_t uses = 1 + below(5);
    for (std::uint64_t k = 0; k < uses; ++k)
      system.users.back().push_back(
          {static_cast<std::int32_t>(below(links)), below(2) == 0 ? 1.0 : 0.1 + s.uniform(at++)});
  }
  return system;
}

std::vector<double> taken(const System& s, const std::vector<double>& rates) {
  std::vector<double> load(s.capacities.size());
  for (std::size_t u = 0; u < s.users.size(); ++u)
    for (const ResourceUse& use : s.users[u])
      load[static_cast<std::size_t>(use.resource)] += rates[u] * use.coefficient;
  return load;
}

} // namespace

TEST_CASE("No capacity is exceeded and every user meets a full resource where nobody has more") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const System s = random_system(seed);
    const auto rates = max_min_rates(s.capacities, s.users);
    const auto load = taken(s, rates);
    std::vector<double> highest(s.capacities.size());
    for (std::size_t u = 0; u < s.users.size(); ++u)
      for (const ResourceUse& use : s.users[u])
        highest[static_cast<std::size_t>(use.resource)] =
            std::max(highest[static_cast<std::size_t>(use.resource)], rates[u]);
    bool within = true;
    for (std::size_t l = 0; l < load.size(); ++l) within = within && load[l] <= s.capacities[l] * (1.0 + 1e-9);
    bool stuck = true;
    for (std::size_t u = 0; u < s.users.size(); ++u)
      stuck = stuck && std::any_of(s.users[u].begin(), s.users[u].end(), [&](const ResourceUse& use) {
                const auto l = static_cast<std::size_t>(use.resource);
                return load[l] >= s.capacities[l] * (1.0 - 1e-9) && rates[u] >= highest[l] * (1.0 - 1e-9);
              });
    CAPTURE(seed);
    CHECK(within);
    CHECK(stuck);
  }
}

TEST_CASE("The smallest rate never falls when a capacity grows") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    System s = random_system(seed);
    if (s.users.empty()) continue;
    const auto before = max_min_rates(s.capacities, s.users);
    s.capacities[seed % s.capacities.size()] *= 2.0;
    const auto after = max_min_rates(s.capacities, s.users);
    CAPTURE(seed);
    CHECK(*std::min_element(after.begin(), after.end()) >=
          *std::min_element(before.begin(), before.end()) * (1.0 - 1e-9));
  }
}

TEST_CASE("Rates scale with the capacities and do not depend on the order of users") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    System s = random_system(seed);
    const auto rates = max_min_rates(s.capacities, s.users);
    System reversed = s;
    std::reverse(reversed.users.begin(), reversed.users.end());
    auto back = max_min_rates(reversed.capacities, reversed.users);
    std::reverse(back.begin(), back.end());
    for (double& c : s.capacities) c *= 3.0;
    const auto tripled = max_min_rates(s.capacities, s.users);
    CAPTURE(seed);
    for (std::size_t u = 0; u < rates.size(); ++u) {
      CHECK(back[u] == doctest::Approx(rates[u]).epsilon(1e-9));
      CHECK(tripled[u] == doctest::Approx(3.0 * rates[u]).epsilon(1e-9));
    }
  }
}
