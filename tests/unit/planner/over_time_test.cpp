// What happens to a job over time: phases, who is slowed, what moving costs, and that nothing happens without events.
#include <doctest/doctest.h>

#include "sim/config/load.h"
#include "sim/planner/over_time.h"
#include "sim/planner/replan.h"
#include "sim/planner/simulate.h"
#include "tests/support/small_moe.h"

using namespace tessella;

namespace {

Scenario small(const std::vector<std::string>& overrides = {}, std::int64_t steps = 6) {
  return testing::small_moe(overrides, steps);
}

RunResult with(WhatIf what, StepRange steps, std::vector<std::string> overrides = {}, unsigned threads = 1) {
  Scenario s = small(overrides);
  s.events = {{steps, std::move(what)}};
  RunOptions options;
  options.threads = threads;
  return simulate(s, options);
}

// The pieces of the same partition with one layer moved from the first stage to the last.
Partition shifted(Partition p) {
  p.stages.front().num_layers -= 1;
  p.stages.back().first_layer -= 1;
  p.stages.back().num_layers += 1;
  return p;
}

} // namespace

TEST_CASE("Phases cover all steps once, and change where an event begins or ends") {
  Scenario s = small({}, 20);
  CHECK(phases_of(s) == std::vector<Phase>{{0, 20, {}}});
  s.events = {{{5, 9}, SlowGpu{0, 2.0}}, {{8, {}}, MoreJitter{0.1, 0.0}}, {{19, 19}, FailedRail{0}}};
  CHECK(phases_of(s) == std::vector<Phase>{{0, 5, {}}, {5, 3, {0}}, {8, 2, {0, 1}}, {10, 9, {1}}, {19, 1, {1, 2}}});
}

TEST_CASE("Steps to which nothing happens are those of the plain run, to the picosecond") {
  const std::vector<std::string> drawn = {"routing={preset: natural}"};
  const RunResult plain = simulate(small(drawn), {});
  const RunResult r = with(SlowGpu{3, 1.5}, {2, 3}, drawn);
  for (const std::size_t step : {0U, 1U, 4U, 5U}) CHECK(r.step_times[step] == plain.step_times[step]);
  for (const std::size_t step : {2U, 3U}) CHECK(r.step_times[step] > plain.step_times[step]);
  REQUIRE(r.phases.size() == 3);
  CHECK(r.phases[1].events == std::vector<std::string>{"slow_gpu rank 3 x1.5"});
  CHECK(r.ledger_sum.total().ps > 0);
}

TEST_CASE("A factor of 1 changes nothing, a larger one never helps") {
  const RunResult plain = simulate(small(), {});
  CHECK(with(SlowGpu{3, 1.0}, {0, {}}).step_times == plain.step_times);
  CHECK(with(SlowNic{3, 1.0}, {0, {}}).step_times == plain.step_times);
  CHECK(with(SlowLink{3, 1.0}, {0, {}}).step_times == plain.step_times);
  const Duration twice = with(SlowGpu{3, 2.0}, {0, {}}).step_time;
  CHECK(twice > plain.step_time);
  CHECK(with(SlowGpu{3, 3.0}, {0, {}}).step_time > twice);
  CHECK(with(SlowLink{3, 4.0}, {0, {}}).step_time > plain.step_time);
  CHECK(with(FailedRail{2}, {0, {}}, {"parallelism.ep=16", "parallelism.etp=1"}).step_time >
        simulate(small({"parallelism.ep=16", "parallelism.etp=1"}), {}).step_time);
}

TEST_CASE("Everyone of a pipeline waits for a slow GPU: a slow rank of the critical stage slows compute in full") {
  // One pipeline rank, no exchange: the step is the slow rank's compute and what was not compute before.
  const std::vector<std::string> alone = {"parallelism.ep=1", "parallelism.etp=1", "parallelism.tp=1",
                                          "parallelism.pp=1", "batch.gbs=64",      "schedule.name=1f1b"};
  const RunResult plain = simulate(small(alone, 1), {});
  Scenario s = small(alone, 1);
  s.events = {{{0, {}}, SlowGpu{0, 2.0}}};
  const RunResult slow = simulate(s, {});
  const Duration compute = plain.rank_rows[0][Share::compute];
  CHECK(slow.rank_rows[0][Share::compute].seconds() == doctest::Approx(2.0 * compute.seconds()).epsilon(1e-6));
  CHECK(slow.rank_rows[1][Share::compute] == plain.rank_rows[1][Share::compute]);
  CHECK(slow.step_time.seconds() ==
        doctest::Approx(plain.step_time.seconds() + compute.seconds()).epsilon(0.02)); // less what dp hid before
}

TEST_CASE("Layers that move are charged once there and once back, and pass through the NIC") {
  Scenario s = small();
  const Partition to = shifted(s.partition);
  const Duration once = move_time(s, s.partition, to);
  CHECK(once > Duration{});
  CHECK(once == move_time(s, to, s.partition));
  CHECK(move_time(s, s.partition, s.partition) == Duration{});
  Scenario slower = s;
  slower.cluster.node.nic.bandwidth = slower.cluster.node.nic.bandwidth * 0.5;
  CHECK(move_time(slower, s.partition, to).seconds() == doctest::Approx(2.0 * once.seconds()));
  s.events = {{{2, 3}, MoveLayers{"", to}}};
  const RunResult r = simulate(s, {});
  REQUIRE(r.phases.size() == 3);
  CHECK(r.phases[0].pause == Duration{});
  CHECK(r.phases[1].pause == once);
  CHECK(r.phases[2].pause == once);
  CHECK(r.step_times[2] == r.step_times[3] + once);
  CHECK(r.step_times[5] == r.step_times[0]);
}

TEST_CASE("A circuit for dense collectives never slows them, and its setup stops the job once") {
  const RunResult plain = simulate(small(), {});
  const RunResult r = with(DenseCircuit{Bandwidth{4e11}, Duration{1'000'000'000}}, {1, {}});
  CHECK(r.phases[1].pause == Duration{1'000'000'000});
  CHECK(r.step_times[2] <= plain.step_times[2]);
  CHECK(r.step_times[1] == r.step_times[2] + r.phases[1].pause);
}

TEST_CASE("Stolen work evens out a node: never slower, and nothing to steal when all are alike") {
  CHECK(with(WorkStealing{}, {0, {}}).step_times == simulate(small(), {}).step_times);
  const std::vector<std::string> skewed = {"routing={preset: skewed}"};
  CHECK(with(WorkStealing{}, {0, {}}, skewed).step_time < simulate(small(skewed), {}).step_time);
}

TEST_CASE("Events do not depend on threads") {
  const std::vector<std::string> drawn = {"routing={preset: natural}"};
  for (const WhatIf& what : {WhatIf{SlowGpu{3, 1.5}}, WhatIf{MoreJitter{0.1, 0.1}}, WhatIf{WorkStealing{}}})
    CHECK(with(what, {1, 4}, drawn, 1).step_times == with(what, {1, 4}, drawn, 4).step_times);
}

TEST_CASE("Experts that move: less waiting, traffic charged to the step, the draw of other steps unchanged") {
  const std::vector<std::string> drawn = {"routing={preset: skewed}"};
  const RunResult still = simulate(small(drawn), {});
  for (const char* method : {"swap", "replicate"}) {
    const RunResult r =
        simulate(small({drawn[0], std::string("expert_migration={method: ") + method + ", trigger: 1.1}"}), {});
    CHECK(r.step_times[0] == still.step_times[0]); // nothing is known before the first step
    CHECK(r.migration.moves > 0);
    CHECK(r.migration.pause > Duration{});
    CHECK(r.migration.ratio_after < r.migration.ratio_before);
    CHECK(r.load_imbalance_mean < still.load_imbalance_mean);
    Duration all;
    for (const Duration d : r.step_times) all += d;
    CHECK(r.ledger_sum.total() == all * 32);
  }
  CHECK(simulate(small({drawn[0], "expert_migration={method: swap, trigger: 100}"}), {}).step_times ==
        still.step_times);
}

TEST_CASE("A plan is made anew only when stages miss it for long enough, and then the step gets shorter") {
  const ReplanSpec spec{true, 0.05, 2, {}, {}};
  const auto took = [](std::int64_t ps) { return StepRecord{{}, {}, {ps}}; };
  CHECK_FALSE(should_replan(spec, {took(120)}, {100}));
  CHECK(should_replan(spec, {took(120), took(120)}, {100}));
  CHECK_FALSE(should_replan(spec, {took(120), took(104)}, {100}));
  CHECK(should_replan(spec, {took(80), took(80)}, {100}));
  Scenario s = small({"replan={tolerance: 5 %, patience: 2, profiling: 1 s, planning: 1 s}"}, 8);
  CHECK(simulate(s, {}).replannings.empty());
  s.events = {{{2, {}}, SlowGpu{0, 1.5}}};
  const RunResult r = simulate(s, {});
  REQUIRE(r.replannings.size() == 1);
  CHECK(r.replannings[0].step == 4);
  CHECK(r.replannings[0].error > 0.05);
  CHECK(r.replannings[0].pause >= Duration{2'000'000'000'000});
  CHECK(r.step_times[7] < r.step_times[3]);
}
