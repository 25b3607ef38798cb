// Traffic against the ledger: where nothing overlaps and loads are balanced, all that moves inside layers is exposed.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/config/load.h"
#include "sim/planner/simulate.h"
#include "sim/planner/step_traffic.h"

using namespace tessella;

namespace {

Scenario one(std::vector<std::string> overrides = {}) {
  LoadOptions options;
  options.overrides = std::move(overrides);
  return load_scenario("experiments/01_qwen3_235b_h100_256/experiment.yaml", options);
}

double sum(const std::vector<TrafficRow>& rows, const std::string& lane, double TrafficRow::*part) {
  double total = 0.0;
  for (const TrafficRow& row : rows)
    if (row.lane == lane) total += row.*part;
  return total;
}

} // namespace

TEST_CASE("Alone times add up to what the run exposes") {
  const Scenario s = one();
  const RunResult r = simulate(s, {});
  const auto exposed = [&](Share share) {
    return r.ledger_sum[share].seconds() / static_cast<double>(s.parallelism.world_size);
  };
  const std::vector<TrafficRow> rows = step_traffic(s);
  CHECK(sum(rows, "ep", &TrafficRow::alone_s) == doctest::Approx(exposed(Share::exposed_ep)).epsilon(1e-6));
  CHECK(sum(rows, "tp", &TrafficRow::alone_s) == doctest::Approx(exposed(Share::exposed_tp)).epsilon(1e-6));
  CHECK(sum(rows, "cp", &TrafficRow::bytes) == 0.0);
}

TEST_CASE("Twice the batch moves twice the bytes; without expert parallelism no token leaves its rank") {
  const double once = sum(step_traffic(one()), "ep", &TrafficRow::bytes);
  CHECK(once > 0.0);
  CHECK(sum(step_traffic(one({"batch.gbs=4096"})), "ep", &TrafficRow::bytes) == doctest::Approx(2.0 * once));
  CHECK(sum(step_traffic(one({"parallelism.ep=1"})), "ep", &TrafficRow::bytes) == 0.0);
}
