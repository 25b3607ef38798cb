// Max-min fair rates of systems small enough to solve with a pencil. Most are the shapes of SimGrid's own maxmin tests
// (single link, two links, shared and private links, consumption weights); the equations are above each.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/base/check.h"
#include "sim/engine/fair_share.h"

using namespace tessella;

namespace {

using Users = std::vector<std::vector<ResourceUse>>;

void check_rates(const std::vector<double>& capacities, const Users& users, const std::vector<double>& expected) {
  const std::vector<double> rates = max_min_rates(capacities, users);
  REQUIRE(rates.size() == expected.size());
  for (std::size_t i = 0; i < rates.size(); ++i) {
    CAPTURE(i);
    CHECK(rates[i] == doctest::Approx(expected[i]));
  }
}

} // namespace

TEST_CASE("One user takes all: x1 <= 3") {
  check_rates({3.0}, {{{0, 1.0}}}, {3.0});
}

TEST_CASE("k equal users take 1/k each: x1 + ... + xk <= 3") {
  for (const int k : {2, 3, 7, 100})
    check_rates({3.0}, Users(static_cast<std::size_t>(k), {{0, 1.0}}),
                std::vector<double>(static_cast<std::size_t>(k), 3.0 / k));
}

TEST_CASE("Consumption weights: x1 + 2 x2 <= 3, equal rates") {
  check_rates({3.0}, {{{0, 1.0}}, {{0, 2.0}}}, {1.0, 1.0});
}

TEST_CASE("Uses of one resource add up: (1 + 1) x1 <= 3") {
  check_rates({3.0}, {{{0, 1.0}, {0, 1.0}}}, {1.5});
}

TEST_CASE("A user on two links gets the smaller: x1 <= 1, x1 <= 10") {
  check_rates({1.0, 10.0}, {{{0, 1.0}, {1, 1.0}}}, {1.0});
}

TEST_CASE("What a user cannot take elsewhere goes to the others: x1 + x2 <= 10, x1 <= 1") {
  check_rates({10.0, 1.0}, {{{0, 1.0}, {1, 1.0}}, {{0, 1.0}}}, {1.0, 9.0});
}

TEST_CASE("The parking lot: x0 + x1 <= 1, x0 + x2 <= 1, x0 + x3 + x4 <= 1") {
  // The last link is fullest: x0 = x3 = x4 = 1/3, the others keep 2/3.
  check_rates({1.0, 1.0, 1.0}, {{{0, 1.0}, {1, 1.0}, {2, 1.0}}, {{0, 1.0}}, {{1, 1.0}}, {{2, 1.0}}, {{2, 1.0}}},
              {1.0 / 3, 2.0 / 3, 2.0 / 3, 1.0 / 3, 1.0 / 3});
}

TEST_CASE("A chain: x1 + x2 + x3 <= 1, x3 + x4 <= 1, x4 <= 5") {
  // x1 = x2 = x3 = 1/3 fill the first link, then x4 takes what x3 leaves of the second.
  check_rates({1.0, 1.0, 5.0}, {{{0, 1.0}}, {{0, 1.0}}, {{0, 1.0}, {1, 1.0}}, {{1, 1.0}, {2, 1.0}}},
              {1.0 / 3, 1.0 / 3, 1.0 / 3, 2.0 / 3});
}

TEST_CASE("Three links in a triangle: x1 + x2 <= 1, x2 + x3 <= 2, x3 + x1 <= 4") {
  check_rates({1.0, 2.0, 4.0}, {{{0, 1.0}, {2, 1.0}}, {{0, 1.0}, {1, 1.0}}, {{1, 1.0}, {2, 1.0}}}, {0.5, 0.5, 1.5});
}

TEST_CASE("Extremes: no user, no resource, a dead link, an endless one") {
  CHECK(max_min_rates({}, Users{}).empty());
  CHECK(std::isinf(max_min_rates({}, Users{{}})[0]));
  check_rates({0.0, 5.0}, {{{0, 1.0}, {1, 1.0}}, {{1, 1.0}}}, {0.0, 5.0});
  CHECK(std::isinf(max_min_rates(std::vector<double>{INFINITY}, Users{{{0, 1.0}}})[0]));
  CHECK_THROWS_AS(max_min_rates(std::vector<double>{-1.0}, Users{}), InternalError);
}

TEST_CASE("Capacities of very different size") {
  check_rates({1e-9, 1e12}, {{{0, 1.0}, {1, 1.0}}, {{1, 1.0}}, {{1, 1.0}}}, {1e-9, 5e11, 5e11});
}
