// Presets: what each chooses, what keeps it from running, and the order that must hold between them.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/planner/partition/baselines.h"
#include "sim/planner/presets.h"
#include "sim/planner/simulate.h"
#include "tests/support/recipe.h"

using namespace tessella;

namespace {

Scenario scenario(const std::vector<std::string>& overrides = {}) {
  return testing::recipe({"batch.gbs=512"}, overrides);
}

} // namespace

TEST_CASE("A preset swaps schedule, chunks, partition and filler, and nothing else") {
  const Scenario s = scenario();
  const Scenario d = apply_preset(*find_preset("deepspeed"), s, 1);
  CHECK(d.schedule.name == "1f1b");
  CHECK_FALSE(d.schedule.overlap_moe_expert_parallel_comm);
  CHECK(d.parallelism.vpp == 1);
  CHECK(d.partition == layer_count_partition(s.model, s.parallelism.pp));
  const Scenario m = apply_preset(*find_preset("megatron_core_overlap"), s, 1);
  CHECK(m.schedule.name == "interleaved_1f1b");
  CHECK(m.schedule.overlap_moe_expert_parallel_comm);
  CHECK(m.parallelism.vpp == s.parallelism.vpp);
  CHECK(m.parallelism == s.parallelism);
  CHECK(m.batch == s.batch);
  CHECK(m.recompute == s.recompute);
  CHECK(m.routing == s.routing);
  CHECK(apply_preset(*find_preset("tessera"), s, 1).bubble_filler.policy == "greedy");
}

TEST_CASE("What a preset cannot run is said with both numbers and the nearest that it can") {
  const Scenario odd = scenario({"parallelism.vpp=1", "schedule.name=1f1b", "batch.gbs=240"}); // 15 micro-batches
  const auto problem = preset_problem(*find_preset("dualpipe"), odd);
  REQUIRE(problem);
  CHECK(problem->find("15") != std::string::npos);
  CHECK(problem->find("nearest") != std::string::npos);
  CHECK_FALSE(preset_problem(*find_preset("deepspeed"), odd));
}

TEST_CASE("One row per preset; the planned one is never slower than the FLOPs-balanced one with the same schedule") {
  const Scenario s = scenario({"batch.gbs=256"});
  std::vector<const Preset*> all;
  for (const Preset& p : preset_table()) all.push_back(&p);
  const std::vector<PresetRow> rows = compare_presets(all, s, {});
  REQUIRE(rows.size() == preset_table().size());
  const auto row = [&](const char* name) {
    return *std::find_if(rows.begin(), rows.end(), [&](const PresetRow& r) { return r.name == name; });
  };
  for (const PresetRow& r : rows) {
    if (r.problem) continue;
    CAPTURE(r.name);
    CHECK(r.step_time >= r.lower_bound);
    CHECK(r.bubble + r.exposed < 1.0);
  }
  CHECK(row("tessera_static").step_time <= row("megatron_core_overlap").step_time);
  CHECK(row("megatron_core_overlap").step_time < row("megatron_core").step_time);
  CHECK(row("megatron_core_overlap").exposed_ep < row("megatron_core").exposed_ep);
}
