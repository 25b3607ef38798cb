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

namespace {

// The small job with drawn routing and the dispatcher that can pad.
Scenario routed(const std::string& routing, const std::vector<std::string>& more = {}, std::int64_t steps = 1) {
  std::vector<std::string> overrides{"routing={kind: generator" + routing + "}",
                                     "moe={token_dispatcher_type: alltoall}"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return testing::small_moe(overrides, steps);
}

RunResult run(const Scenario& s) {
  return simulate(s, {});
}

} // namespace

TEST_CASE("The better the router is balanced, the shorter the step and the fewer tokens are dropped") {
  double step = 1e9;
  double dropped = 1.0;
  for (const char* method : {"none", "global_batch", "aux_loss"}) {
    const RunResult r = run(routed(", capacity_factor: 1.25, balancing: " + std::string(method)));
    CHECK(r.dropped < dropped);
    dropped = r.dropped;
    const RunResult all = run(routed(", balancing: " + std::string(method)));
    CHECK(all.dropped == 0.0);
    CHECK(all.step_time.seconds() < step);
    step = all.step_time.seconds();
  }
  CHECK(run(routed(", balancing: aux_loss")).step_times == run(routed("")).step_times);
  CHECK(run(routed(", balancing: loss_free_bias")).load_imbalance_mean <
        run(routed(", balancing: global_batch")).load_imbalance_mean);
}

TEST_CASE("A capacity takes time, traffic and memory off the busiest rank, and what it drops is told") {
  const RunResult free = run(routed(""));
  const RunResult tight = run(routed(", capacity_factor: 1"));
  CHECK(tight.step_time < free.step_time);
  CHECK(tight.load_imbalance_max < free.load_imbalance_max);
  CHECK(tight.dropped > 0.05);
  CHECK(tight.ledger_sum[Share::exposed_ep] < free.ledger_sum[Share::exposed_ep]);
  const auto fullest = [](const RunResult& r) { return r.memory.ranks[0].activations.count; };
  CHECK(fullest(tight) < fullest(free));
  const RunResult wide = run(routed(", capacity_factor: 100"));
  CHECK(wide.dropped == 0.0);
  CHECK(wide.step_time.seconds() == doctest::Approx(free.step_time.seconds()).epsilon(0.02)); // other draws
}

TEST_CASE("Padded experts compute their capacity: no waiting for the busiest, and every bit of it is paid for") {
  const auto padded = [](const char* factor, const char* more = "") {
    return run(routed(", pad_to_capacity: true, capacity_factor: " + std::string(factor) + more));
  };
  const RunResult one = padded("1");
  CHECK(one.load_imbalance_max == 1.0);
  CHECK(one.step_time == run(testing::small_moe({"moe={token_dispatcher_type: alltoall}"})).step_time);
  CHECK(one.dropped == run(routed(", capacity_factor: 1")).dropped); // padding saves no token
  const RunResult two = padded("2");
  CHECK(two.step_time > one.step_time);
  CHECK(two.dropped < one.dropped);
  CHECK(two.memory.ranks[0].activations > one.memory.ranks[0].activations);
  CHECK(padded("2", ", balancing: none").step_time == two.step_time); // whatever the router does
}

TEST_CASE("Warm-up steps are run and not counted: the rest is what it was") {
  const std::vector<std::string> drawn{"routing.kind=generator"};
  const RunResult all = run(testing::small_moe(drawn, 8));
  const RunResult tail = run(testing::small_moe({"routing.kind=generator", "simulation.warm_up=3"}, 8));
  CHECK(tail.warm_up == 3);
  CHECK(tail.step_times == std::vector<Duration>(all.step_times.begin() + 3, all.step_times.end()));
  CHECK(tail.step_time != all.step_time);
  for (const LedgerRow& row : tail.rank_rows) CHECK(row.total() == tail.step_times[0]);
  Duration sum;
  for (const Duration d : tail.step_times) sum += d;
  CHECK(tail.ledger_sum.total() == sum * 32);
  CHECK(tail.sim.rank_ops == all.sim.rank_ops);
}

TEST_CASE("A wanted precision ends a run at the same step on any number of threads, warm-up apart") {
  const auto until = [](const char* warm_up, unsigned threads) {
    RunOptions options;
    options.enough = enough_at(0.02);
    options.threads = threads;
    // Without memory from step to step, or 300 steps would not be ten correlation times.
    return simulate(testing::small_moe({"routing={kind: generator, drift_phi: 0}", warm_up}, 300), options);
  };
  const RunResult one = until("simulation.warm_up=0", 1);
  CHECK(one.precise);
  CHECK(one.step_times.size() >= 30);
  CHECK(one.step_times.size() < 300);
  CHECK(one.step_time_ci95.seconds() <= 0.02 * one.step_time.seconds());
  CHECK(until("simulation.warm_up=0", 2).step_times == one.step_times);
  const RunResult warm = until("simulation.warm_up=5", 2);
  CHECK(warm.precise);
  CHECK(warm.step_times.size() % 10 == 0); // judged on steps that count
  CHECK(warm.step_times.front() == one.step_times[5]);
}
