// The points that a sweep's plots join, against a look at all pairs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "sim/base/rng.h"
#include "sim/store/sweep_views.h"

using namespace tessella;

namespace {

ResultRow plan(double ranks, double mfu, double gib, double tokens, const char* status = "ok") {
  ResultRow row;
  row.status = status;
  const auto put = [&](std::string_view name, double value) {
    const auto at = std::find(kResultNumbers.begin(), kResultNumbers.end(), name) - kResultNumbers.begin();
    row.numbers[static_cast<std::size_t>(at)] = value;
  };
  put("ranks", ranks);
  put("mfu", mfu);
  put("memory_peak_bytes", gib * 1073741824.0);
  put("tokens_per_s_per_gpu", tokens);
  return row;
}

} // namespace

TEST_CASE("Scaling joins the best MFU of each number of GPUs; plans that do not fit are left out") {
  const std::vector<ResultRow> rows = {plan(16, 0.3, 10, 100), plan(8, 0.4, 10, 100), plan(16, 0.35, 10, 100),
                                       plan(16, 0.9, 90, 100, "does_not_fit"), plan(8, 0.4, 20, 50)};
  CHECK(scaling_view(rows) == std::vector<ViewPoint>{{8, 0.4, true}, {16, 0.3, false}, {16, 0.35, true}});
  CHECK(scaling_view({}).empty());
}

TEST_CASE("The front holds exactly the plans that no other beats") {
  const Stream draws(3, Purpose::test);
  std::vector<ResultRow> rows;
  for (std::uint64_t i = 0; i < 200; ++i)
    rows.push_back(plan(8, 0.3, 1.0 + std::floor(20.0 * draws.uniform(2 * i)),
                        100.0 + std::floor(20.0 * draws.uniform(2 * i + 1))));
  const std::vector<ViewPoint> view = pareto_view(rows);
  REQUIRE(view.size() > 50);
  int on_front = 0;
  for (const ViewPoint& p : view) {
    const bool beaten = std::any_of(view.begin(), view.end(), [&](const ViewPoint& q) {
      return q.x <= p.x && q.y <= p.y && (q.x < p.x || q.y < p.y);
    });
    CHECK(p.best == !beaten);
    on_front += p.best ? 1 : 0;
  }
  CHECK(on_front >= 2);
}
