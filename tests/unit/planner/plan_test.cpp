// The planner on a real experiment, cut down to seconds: rows, certificate, files, search.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/base/error.h"
#include "sim/config/load.h"
#include "sim/config/plan_yaml.h"
#include "sim/planner/make_plan.h"
#include "sim/planner/overlap/overlap_graph.h"
#include "sim/planner/partition/certificate.h"
#include "sim/planner/partition/partition_milp.h"
#include "sim/planner/partition/stage_memory.h"
#include "sim/planner/search/search.h"
#include "sim/planner/simulate.h"
#include "tests/support/recipe.h"

using namespace tessella;

namespace {

Scenario scenario(const std::vector<std::string>& overrides = {}) {
  return testing::recipe({"batch.gbs=512"}, overrides);
}

const std::string kOverlap = "schedule.overlap_moe_expert_parallel_comm=true";

std::int64_t layers_of(const Partition& p) {
  std::int64_t n = 0;
  for (const StageContent& s : p.stages) n += s.num_layers;
  return n;
}

} // namespace

TEST_CASE("A plan is never slower than a baseline that fits, never below its bound, and holds every layer") {
  for (const std::vector<std::string>& overrides :
       {std::vector<std::string>{}, {kOverlap}, {"parallelism.vpp=1", "schedule.name=zb_h1"}}) {
    const Scenario s = scenario(overrides);
    PlanOptions options;
    options.refine_rounds = 1;
    const PlanFile plan = make_plan(s, options);
    CAPTURE(plan.schedule.name);
    CHECK(plan.best.fits());
    CHECK(layers_of(plan.best.partition) == s.model.num_layers());
    CHECK(plan.best.step_time >= plan.certificate.lower_bound);
    CHECK(plan.certificate.surrogate_proven);
    for (const char* name : {"uniform", "layer_count", "flops", "serial", "additive", "given"}) {
      const auto row =
          std::find_if(plan.baselines.begin(), plan.baselines.end(), [&](const PlanRow& r) { return r.name == name; });
      if (plan.best.name == name) continue;
      REQUIRE(row != plan.baselines.end());
      CAPTURE(name);
      CHECK(layers_of(row->partition) == s.model.num_layers());
      CHECK(row->step_time >= plan.certificate.lower_bound);
      if (row->fits()) CHECK(row->step_time >= plan.best.step_time);
    }
    // The step time in the plan is what `run` says.
    Scenario again = s;
    CHECK_FALSE(adopt_plan(plan, "tessella plan", again));
    CHECK(again.partition == plan.best.partition);
    CHECK(simulate(again, {}).step_time == plan.best.step_time);
  }
}

TEST_CASE("The planner's memory limits agree with the memory report") {
  for (const std::vector<std::string>& overrides : {std::vector<std::string>{}, {kOverlap}}) {
    const Scenario s = scenario(overrides);
    const Schedule schedule = schedule_of(s);
    const MemoryReport report = memory_report(s, schedule);
    const Bytes free = report.capacity - report.ranks[static_cast<std::size_t>(report.peak_rank)].peak();
    const Bytes slack = StageMemory(s, schedule, 1.0).slack(s.partition);
    // Per-rank workspaces and rounding up of shards differ by little.
    CHECK(static_cast<double>(slack.count) == doctest::Approx(static_cast<double>(free.count)).epsilon(0.01));
  }
}

TEST_CASE("CBC and the threshold search plan the same bottleneck") {
  if (!has_milp()) {
    MESSAGE("skipped: built without CBC");
    return;
  }
  const Scenario s = scenario({kOverlap, "parallelism.pp=4", "parallelism.vpp=2"});
  PlanOptions options;
  options.refine_rounds = 0;
  options.radius = 1;
  const PlanFile ours = make_plan(s, options);
  options.reference_milp = true;
  const PlanFile theirs = make_plan(s, options);
  const auto overlap = [](const PlanFile& p) {
    if (p.best.name == "overlap") return p.best.bottleneck;
    return std::find_if(p.baselines.begin(), p.baselines.end(), [](const PlanRow& r) { return r.name == "overlap"; })
        ->bottleneck;
  };
  CHECK(overlap(ours) == overlap(theirs));
  CHECK(theirs.search.solver == "cbc");
}

TEST_CASE("plan.yaml reads back as it was written, and a stale one names the changed file") {
  const Scenario s = scenario();
  PlanOptions options;
  options.refine_rounds = 0;
  options.explain = true;
  PlanFile plan = make_plan(s, options);
  plan.search.wall_s = 0.0;
  CHECK(load_plan_text("plan.yaml", to_yaml(plan)) == plan);
  CHECK(plan.what_ifs.size() == 5); // with the best move of one layer and without recompute

  Scenario other = s;
  PlanFile stale = plan;
  stale.inputs.front().second.pop_back();
  const auto problem = adopt_plan(stale, "tessella plan X -o Y", other);
  REQUIRE(problem);
  CHECK(problem->find(stale.inputs.front().first) != std::string::npos);
  CHECK(problem->find("tessella plan X -o Y") != std::string::npos);
  CHECK(other.partition == s.partition);
  other = scenario({"parallelism.vpp=2"});
  CHECK(adopt_plan(plan, "", other)->find("32 stages") != std::string::npos);
  other = scenario({kOverlap});
  CHECK(adopt_plan(plan, "", other)->find("schedule") != std::string::npos);

  CHECK_THROWS_AS(load_plan_text("p", "plan: x\nbest: {layout: \"tE\"}\n"), InputError);
  CHECK_THROWS_AS(load_plan_text("p", to_yaml(plan) + "unknown: 1\n"), InputError);
}

TEST_CASE("A plan that cannot fit says how much is missing and what would help") {
  try {
    make_plan(scenario(
        {"parallelism.pp=2", "parallelism.vpp=1", "parallelism.ep=8", "parallelism.tp=1", "schedule.name=1f1b"}));
    CHECK(false);
  } catch (const InfeasiblePlan& e) {
    const std::string text = e.what();
    CHECK(text.find("GB short") != std::string::npos);
    CHECK(text.find("94 layers over 2 stages") != std::string::npos);
    CHECK(text.find("the fullest rank holds stage") != std::string::npos);
    CHECK(text.find("single change") != std::string::npos);
  }
}

TEST_CASE("The overlap graph of combined 1F1B: v * v edges per rank at most, with directions; none lost") {
  const Scenario s = scenario({kOverlap});
  const Schedule schedule = schedule_of(s);
  const OverlapGraph graph = overlap_graph(schedule);
  CHECK(graph.paired);
  CHECK(graph.edges.size() <= 8 * 4 * 4);
  std::int64_t pairs = 0;
  for (const auto& slots : schedule.ranks)
    pairs += std::count_if(slots.begin(), slots.end(), [](const Slot& x) { return x.second.has_value(); });
  std::int64_t counted = 0;
  for (const OverlapEdge& e : graph.edges) {
    counted += e.count;
    CHECK(e.forward_stage % 8 == e.backward_stage % 8);
  }
  CHECK(counted == pairs);
  CHECK_FALSE(overlap_graph(schedule_of(scenario())).paired);
}

TEST_CASE("Search: its bounds hold, its ranking is the simulator's, threads change nothing") {
  const Scenario s = scenario({"batch.gbs=256", "parallelism.world_size=64", "parallelism.ep=8"});
  SearchOptions options;
  options.top = 3;
  options.max_vpp = 2;
  options.max_micro_batch_size = 1;
  const SearchResult found = search_configurations(s, options);
  REQUIRE(found.ranked.size() >= 3);
  CHECK(found.counts.enumerated > found.counts.legal);
  CHECK(found.counts.fit == found.counts.simulated + found.counts.bounded + found.counts.not_covered);
  for (std::size_t i = 0; i < found.ranked.size(); ++i) {
    const RankedPlan& r = found.ranked[i];
    CHECK(r.step_time >= r.lower_bound);
    CHECK(r.free.count >= 0);
    if (i > 0) CHECK(r.step_time >= found.ranked[i - 1].step_time);
  }
  options.threads = 2;
  const SearchResult again = search_configurations(s, options);
  CHECK(again.ranked == found.ranked);
  CHECK(again.counts == found.counts);
}
