#include <doctest/doctest.h>

#include "sim/cost/load_curve.h"
#include "sim/cost/moe_ops.h"
#include "tests/unit/cost/ops_support.h"

using namespace tessella;
using namespace tessella::test;

TEST_CASE("exact at the knots, linear between and beyond") {
  const LoadCurve c{4, {{10}, {30}, {50}, {70}}};
  CHECK(c.at(0).ps == 10);
  CHECK(c.at(4).ps == 30);
  CHECK(c.at(6).ps == 40);
  CHECK(c.at(12).ps == 70);
  CHECK(c.at(20).ps == 110);
}

TEST_CASE("a plateau at the end is not taken for the trend") {
  const LoadCurve stairs{1, {{0}, {10}, {10}, {20}, {20}}}; // mean slope of the upper half: 10 in 2
  CHECK(stairs.at(4).ps == 20);
  CHECK(stairs.at(6).ps == 30);
}

TEST_CASE("sampling covers four times the balanced load with a power-of-two step") {
  for (const std::int64_t balanced : {1, 7, 100, 16384, 40960}) {
    CAPTURE(balanced);
    const LoadCurve c = sample_curve(balanced, [](std::int64_t t) { return Duration{100 + 3 * t}; });
    CHECK((c.step & (c.step - 1)) == 0);
    CHECK(c.step * static_cast<std::int64_t>(c.knots.size() - 1) >= 4 * balanced);
    CHECK(c.knots.size() <= 70);
    for (const std::int64_t t : {std::int64_t{0}, balanced, 4 * balanced, 40 * balanced})
      CHECK(c.at(t).ps == 100 + 3 * t);
  }
}

TEST_CASE("a dip is raised to what fewer tokens cost") {
  const LoadCurve c = sample_curve(1, [](std::int64_t t) { return Duration{t == 2 ? 1 : 10 * t}; });
  CHECK(c.at(2).ps == 10);
  CHECK(c.at(3).ps == 30);
}

TEST_CASE("rows are spread evenly over the local experts") {
  CHECK(spread_evenly(10, 4) == std::vector<std::int64_t>{3, 3, 2, 2});
  CHECK(spread_evenly(0, 2) == std::vector<std::int64_t>{0, 0});
}

TEST_CASE("experts cost by the rows they get, padded to tiles; an uneven spread costs no less") {
  const Scenario s = deepseek_tp1_ep64();
  const std::vector<OpCost> f = make_model_ops(s).kinds[0].forward;
  const LoadCurve& experts = *f[2].by_load;
  CHECK(experts.at(0).ps == 0);
  // Twice the rows, twice the time: every kernel here is linear in whole tiles.
  CHECK(experts.at(2 * 32768).ps == 2 * experts.at(32768).ps);

  CommCosts comm(s);
  KernelCosts kernels(s.profile, s.precision, ContentionModel{132, 1e12, {}, {}});
  const LayerContext c(s, kernels, comm);
  const MoeFfn& moe = *moe_of(s.model.kinds[0]);
  const auto time = [&](const std::vector<std::int64_t>& tokens) {
    Duration sum;
    for (const OpDetail& d : expert_kernels(c, moe, GemmPass::forward, tokens)) sum += d.duration;
    return sum;
  };
  CHECK(time({256, 256, 256, 256}) == time({1024, 0, 0, 0}));
  CHECK(time({257, 255, 256, 256}) > time({256, 256, 256, 256})); // one more tile
}
