// Expert placements in plan files: written, read back, obeyed by a run, and refused when they are not the model's.
#include <doctest/doctest.h>

#include "sim/base/error.h"
#include "sim/config/load.h"
#include "sim/config/plan_yaml.h"
#include "sim/planner/make_plan.h"
#include "sim/planner/search/fit.h"
#include "sim/planner/search/placement_study.h"
#include "sim/planner/simulate.h"
#include "tests/support/recipe.h"

using namespace tessella;

namespace {

Scenario scenario(const std::vector<std::string>& overrides) {
  return testing::recipe({"batch.gbs=256"}, overrides);
}

// On a pipeline rank.
std::int64_t layers_of(const Scenario& s, std::size_t rank) {
  std::int64_t layers = 0;
  for (std::size_t stage = rank; stage < s.partition.stages.size(); stage += static_cast<std::size_t>(s.parallelism.pp))
    layers += s.partition.stages[stage].num_layers;
  return layers;
}

const std::string kUneven = "routing={preset: natural}";

// The plan's experts survive its file, and beat experts in their order on the same partition.
struct Adopted {
  Scenario placed;
  RunResult before, after;
};

Adopted adopted(const Scenario& s, const PlanFile& plan) {
  CHECK(load_plan_text("plan.yaml", to_yaml(plan)).experts == plan.experts);
  Scenario placed = s;
  REQUIRE_FALSE(adopt_plan(plan, "renew", placed));
  Scenario contiguous = s;
  contiguous.partition = plan.best.partition;
  Adopted a{placed, simulate(contiguous, {}), simulate(placed, {})};
  CHECK(a.after.step_time < a.before.step_time);
  CHECK(a.after.load_imbalance_mean < a.before.load_imbalance_mean);
  return a;
}

} // namespace

TEST_CASE("A migrated placement evens the ranks out, survives its file, and makes the step shorter") {
  const Scenario s = scenario({kUneven});
  PlanOptions options;
  options.refine_rounds = 0;
  PlanFile plan = make_plan(s, options);
  plan.experts = migrated_experts(s, 64);
  CHECK(plan.experts->load_after < 0.8 * plan.experts->load_before);
  CHECK(plan.experts->load_after >= 1.0);
  adopted(s, plan);
}

TEST_CASE("Replicas even the ranks out further; their memory and their way home are charged") {
  const Scenario s = scenario({kUneven});
  PlanOptions options;
  options.refine_rounds = 0;
  PlanFile plan = make_plan(s, options);
  plan.experts = replicated_experts(s, 160); // 5 slots on each of 32 ranks instead of 4
  CHECK(plan.experts->load_after < migrated_experts(s, 64).load_after);
  Adopted a = adopted(s, plan);
  const RankMemory& own = a.before.memory.ranks[1];
  const RankMemory& held = a.after.memory.ranks[1];
  CHECK(held.weights > own.weights);
  // One expert of 3 x 4096 x 1536 in bf16 a layer.
  CHECK(held.weights.count - own.weights.count == layers_of(a.placed, 1) * 3LL * 4096 * 1536 * 2);
  CHECK(held.gradients.count - own.gradients.count == 2 * (held.weights.count - own.weights.count));
  CHECK(held.optimizer == own.optimizer);
  a.placed.expert_migration.method = MigrationMethod::swap;
  CHECK(adopt_plan(plan, "renew", a.placed)->find("replicate") != std::string::npos);
  CHECK_THROWS_WITH_AS(replicated_experts(s, 130), doctest::Contains("32"), InputError);
}

TEST_CASE("Putting every expert where it already is changes nothing") {
  Scenario s = scenario({kUneven});
  const RunResult before = simulate(s, {});
  std::vector<std::int32_t> same(128);
  for (std::size_t e = 0; e < same.size(); ++e) same[e] = static_cast<std::int32_t>(e);
  s.routing.expert_at.assign(94, same);
  CHECK(simulate(s, {}).step_time == before.step_time);
}

TEST_CASE("A placement that loses an expert, or is of another model, is refused with both numbers") {
  const Scenario s = scenario({kUneven});
  PlanOptions options;
  options.refine_rounds = 0;
  PlanFile plan = make_plan(s, options);
  plan.experts = migrated_experts(s, 0);
  plan.experts->expert_at[3][0] = plan.experts->expert_at[3][1];
  Scenario target = s;
  auto problem = adopt_plan(plan, "renew", target);
  REQUIRE(problem);
  CHECK(problem->find("layer 3") != std::string::npos);
  plan.experts->expert_at.pop_back();
  problem = adopt_plan(plan, "renew", target);
  REQUIRE(problem);
  CHECK(problem->find("93") != std::string::npos);
  CHECK(problem->find("94") != std::string::npos);
  CHECK_THROWS_AS(migrated_experts(scenario({}), 8), InputError); // balanced
}

TEST_CASE("A plan that does not fit names the single changes that do, and they do") {
  const Scenario s = scenario({"batch.gbs=1024", "batch.mbs=4", "recompute={granularity: none}"});
  CHECK(free_memory(*legal_with_flops_layers(s)).count < 0);
  const std::vector<std::string> texts = changes_that_fit(s);
  REQUIRE_FALSE(texts.empty());
  for (const std::string& text : texts) {
    CAPTURE(text);
    std::string change = text.substr(std::string("--set ").size());
    if (change.front() == '\'') change = change.substr(1, change.size() - 2);
    const auto fixed =
        legal_with_flops_layers(scenario({"batch.gbs=1024", "batch.mbs=4", "recompute={granularity: none}", change}));
    REQUIRE(fixed);
    CHECK(free_memory(*fixed).count >= 0);
  }
  CHECK_THROWS_WITH_AS(make_plan(s), doctest::Contains("single changes that fit"), InfeasiblePlan);
}
