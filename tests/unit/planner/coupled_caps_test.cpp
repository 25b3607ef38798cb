// Balanced cuts where a rank holds four chunks and its memory binds their sum: Qwen3-235B on GPUs that get smaller.
#include <doctest/doctest.h>

#include "sim/config/load.h"
#include "sim/exec/lower.h"
#include "sim/planner/overlap/overlap_graph.h"
#include "sim/planner/partition/baselines.h"
#include "sim/planner/partition/coupled_caps.h"
#include "sim/planner/simulate.h"

using namespace tessella;

namespace {

Scenario scenario() {
  LoadOptions options;
  options.overrides = {"batch.gbs=512"};
  return load_scenario("experiments/01_qwen3_235b_h100_256/experiment.yaml", options);
}

Duration largest_stage(const LayerTable& table, const Partition& p) {
  Duration worst;
  for (const StageContent& s : p.stages) worst = max(worst, table.stage(s).serial());
  return worst;
}

} // namespace

TEST_CASE("The serial-balanced cut fits where any cut near it does; less memory never makes it faster") {
  Scenario s = scenario();
  const LayerTable table(s, make_model_ops(s));
  const Schedule schedule = schedule_of(s);
  const auto stages = s.parallelism.num_stages();
  REQUIRE(s.parallelism.vpp == 4);
  const auto free = time_balanced_partition(s.model, table, stages, 0.0, nullptr);
  REQUIRE(free);
  s.profile.gpu.memory = s.profile.gpu.memory - StageMemory(s, schedule, 1.0).slack(*free); // just enough
  Duration before = largest_stage(table, *free);
  int capped = 0;
  int none = 0;
  for (int step = 0; step < 5; ++step) {
    CAPTURE(step);
    const StageMemory memory(s, schedule, 1.0);
    const auto cut = time_balanced_partition(s.model, table, stages, 0.0, &memory);
    const PartitionProblem near = partition_problem(
        overlap_graph(schedule), candidates_around(*free, 1),
        [](const StageContent&, const StageContent&) { return Duration{1}; }, &memory);
    const auto leanest = leanest_partition(near, *free);
    REQUIRE(leanest);
    if (leanest->missing.count <= 0) REQUIRE(cut);
    if (step == 0) CHECK(cut == free);
    if (cut) {
      CHECK(memory.slack(*cut).count >= 0);
      CHECK(largest_stage(table, *cut) >= before);
      before = largest_stage(table, *cut);
      capped += *cut != *free ? 1 : 0;
    } else {
      ++none;
      CHECK(leanest->missing.count > 0);
    }
    s.profile.gpu.memory = s.profile.gpu.memory - Bytes{1'000'000'000};
  }
  MESSAGE(capped << " cuts gave way, " << none << " found none");
  CHECK(capped > 0);
}

TEST_CASE("The leanest cut names the rank, the stage that holds most and exactly what is missing") {
  Scenario s = scenario();
  const Schedule schedule = schedule_of(s);
  const LayerTable table(s, make_model_ops(s));
  const auto serial = time_balanced_partition(s.model, table, s.parallelism.num_stages(), 0.0, nullptr);
  s.profile.gpu.memory = Bytes{20'000'000'000};
  const StageMemory small(s, schedule, 1.0);
  const auto cost = [](const StageContent&, const StageContent&) { return Duration{1}; };
  const auto problem = [&](const StageMemory& memory) {
    return partition_problem(overlap_graph(schedule), candidates_around(*serial, 1), cost, &memory);
  };
  const auto leanest = leanest_partition(problem(small), *serial);
  REQUIRE(leanest);
  CHECK(leanest->missing.count > 0);
  CHECK(small.slack(leanest->partition) == Bytes{-leanest->missing.count});
  CHECK(small.slack(*serial) <= small.slack(leanest->partition));
  CHECK(leanest->stages.size() == 4);
  CHECK(leanest->held.count * 4 >= small.budget().count / 4);
  s.profile.gpu.memory = s.profile.gpu.memory + leanest->missing;
  CHECK(StageMemory(s, schedule, 1.0).slack(leanest->partition).count >= 0);
}
