// Scenario in, answer out: on files of this repository, where laws must hold whatever the numbers are.
#include <doctest/doctest.h>

#include "sim/config/load.h"
#include "sim/planner/simulate.h"
#include "tests/support/small_moe.h"

using namespace tessella;

namespace {

double seconds(const Scenario& s) {
  return simulate(s, {}).step_time.seconds();
}

} // namespace

TEST_CASE("Rows close to the picosecond and shares add up to the step") {
  const RunResult r = simulate(testing::small_moe({"routing.kind=generator"}), {});
  CHECK(r.rank_rows.size() == 32);
  for (const LedgerRow& row : r.rank_rows) CHECK(row.total() == r.step_times[0]);
  CHECK(r.ledger_sum.total() == r.step_times[0] * 32);
}

TEST_CASE("An ideal fabric exposes nothing") {
  const RunResult r = simulate(testing::small_moe({"cluster.topology=ideal", "topology.gpu=h100_sxm",
                                                   "topology.nodes=4", "topology.node.gpus=8"}),
                               {});
  for (const Share s : {Share::exposed_ep, Share::exposed_tp, Share::exposed_cp, Share::exposed_pp, Share::exposed_dp})
    CHECK(r.ledger_sum[s].ps == 0);
}

TEST_CASE("More of the same work takes longer, a faster machine less time") {
  const double base = seconds(testing::small_moe());
  CHECK(seconds(testing::small_moe({"batch.gbs=128"})) > 1.5 * base);
  CHECK(seconds(testing::small_moe({"topology.node.nic.bandwidth=100 GB/s"})) <= base);
  CHECK(seconds(testing::small_moe({"topology.node.nic.bandwidth=10 GB/s"})) > base);
}

TEST_CASE("Recompute trades time for memory") {
  const RunResult kept = simulate(testing::small_moe({"recompute={granularity: none}"}), {});
  const RunResult full = simulate(testing::small_moe({"recompute={granularity: full}"}), {});
  CHECK(full.step_time > kept.step_time);
  CHECK(full.memory.ranks[0].activations < kept.memory.ranks[0].activations);
  CHECK(full.hfu > full.mfu);
  CHECK(kept.hfu == kept.mfu);
}

TEST_CASE("Two simulations in one process do not see each other") {
  const Scenario s = testing::small_moe({"routing.kind=generator"});
  const RunResult first = simulate(s, {});
  simulate(testing::small_moe({"routing.kind=generator", "simulation.seed=5"}), {});
  const RunResult again = simulate(s, {});
  CHECK(first.rank_rows == again.rank_rows);
  CHECK(first.step_times == again.step_times);
}

TEST_CASE("Jitter is seeded: equal seeds agree, no seed averages to no jitter") {
  const Scenario jittery = testing::small_moe({"jitter={kernel: 5 %, fabric: 5 %}"});
  const double a = seconds(jittery);
  CHECK(a == seconds(jittery));
  CHECK(a != seconds(testing::small_moe({"jitter={kernel: 5 %, fabric: 5 %}", "simulation.seed=2"})));
  CHECK(a > seconds(testing::small_moe())); // waiting for the slowest costs, and nothing gives it back
}

TEST_CASE("Every schedule of the table that fits this plan runs and closes its books") {
  for (const char* name : {"gpipe", "1f1b", "zb_h1", "zb_h2", "dualpipe", "chimera"}) {
    CAPTURE(name);
    const RunResult r = simulate(testing::small_moe({std::string("schedule.name=") + name}), {});
    CHECK(r.ledger_sum.total() == r.step_times[0] * 32);
  }
}
