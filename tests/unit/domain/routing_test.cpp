// Routing as plain values: traces, presets, and whether a specification fits the plan.
#include "sim/domain/routing.h"

#include <doctest/doctest.h>

#include <cmath>

#include "sim/domain/balancing.h"
#include "sim/domain/workload_shape.h"
#include "tests/support/legality_plan.h"

using namespace tessella;
using namespace tessella::test;

namespace {

TraceProblem problem_of(const std::vector<TraceRow>& rows) {
  const auto result = make_trace(rows);
  REQUIRE(std::holds_alternative<TraceProblem>(result));
  return std::get<TraceProblem>(result);
}

bool is_problem(const std::vector<TraceRow>& rows, std::size_t row, std::initializer_list<const char*> words) {
  const TraceProblem p = problem_of(rows);
  return p.row == row && mentions(p.message, words);
}

const WorkloadShape kShape{2, 16, 4, 4, 1024, 3};

std::string routing_problems(const RoutingSpec& spec, const WorkloadShape& shape = kShape) {
  std::string text;
  for (const RoutingProblem& p : check_routing(spec, shape)) text += p.key + ": " + p.message + "\n";
  return text;
}

} // namespace

TEST_CASE("a trace is rows put in place, whatever their order inside an iteration") {
  const std::vector<TraceRow> rows{{7, 0, 1, 20}, {7, 0, 0, 10}, {7, 1, 0, 30}, {7, 1, 1, 0},
                                   {8, 1, 1, 80}, {8, 0, 0, 50}, {8, 0, 1, 60}, {8, 1, 0, 70}};
  const auto trace = std::get<RoutingTrace>(make_trace(rows));
  CHECK(trace == RoutingTrace{2, 2, 2, {10, 20, 30, 0, 50, 60, 70, 80}});
  CHECK(trace.row(1, 1)[0] == 70);
}

TEST_CASE("what is not a trace names its row and both numbers") {
  CHECK(is_problem({}, 0, {"no rows"}));
  CHECK(is_problem({{0, 0, 0, 5}, {0, 0, 1, -5}}, 1, {"-5", "negative"}));
  CHECK(is_problem({{0, -1, 0, 5}}, 0, {"layer -1"}));
  CHECK(is_problem({{0, 0, 1LL << 62, 5}}, 0, {"rank 4611686018427387904", "1000000"}));
  CHECK(is_problem({{5, 0, 0, 5}, {4, 0, 0, 5}}, 1, {"backwards", "iteration 4", "iteration 5"}));
  CHECK(is_problem({{5, 0, 0, 5}, {7, 0, 0, 5}}, 1, {"iteration 7", "iteration 5", "missing"}));
  CHECK(is_problem({{0, 0, 0, 5}, {0, 0, 1, 5}, {1, 0, 0, 5}}, 2, {"iteration 1 has 1 rows", "need 2"}));
  CHECK(is_problem({{0, 0, 0, 5}, {0, 0, 1, 5}, {0, 0, 1, 5}}, 2, {"3 rows", "need 2"}));
  CHECK(is_problem({{0, 0, 0, 5}, {0, 0, 0, 5}, {0, 1, 0, 5}, {0, 1, 1, 5}}, 1, {"second row", "rank 0"}));
  CHECK(is_problem({{0, 0, 0, 0}, {0, 0, 1, 0}}, 0, {"0 tokens"}));
  CHECK(is_problem({{0, 999'999, 999'999, 1}}, 0, {"1 rows", "1000000"}));
}

TEST_CASE("presets have distinct names and fit every shape; the generator's defaults are natural") {
  std::vector<std::string> names;
  for (const RoutingPreset& preset : routing_presets()) {
    names.push_back(preset.name);
    CHECK(routing_problems(preset.spec) == "");
    CHECK(*routing_preset(preset.name) == preset.spec);
  }
  CHECK(names == std::vector<std::string>{"balanced", "mild", "natural", "skewed", "burst"});
  CHECK_FALSE(routing_preset("naturel"));
  RoutingSpec defaults;
  defaults.kind = RoutingKind::generator;
  CHECK(*routing_preset("natural") == defaults);
}

TEST_CASE("impossible routing is a value that says why") {
  RoutingSpec spec;
  CHECK(mentions(routing_problems(spec, WorkloadShape{}), {"0 MoE layers", "0 experts"}));
  CHECK(mentions(routing_problems(spec, {2, 10, 4, 4, 1024, 1}), {"num_experts 10", "4"}));
  CHECK(mentions(routing_problems(spec, {2, 16, 4, 4, 1LL << 27, 1}), {"2147483648 rows", "1073741824"}));
  CHECK(mentions(routing_problems(spec, {2, 16, 1LL << 60, 4, 1LL << 60, 1}), {"limit"}));

  spec.kind = RoutingKind::generator;
  spec.static_sigma = -0.1;
  spec.drift_sigma = std::nan("");
  spec.noise_sigma = 40.0;
  spec.drift_phi = 1.0;
  CHECK(mentions(routing_problems(spec), {"static_sigma is -0.1", "drift_sigma is nan", "noise_sigma is 40",
                                          "drift_phi is 1", "routing.drift_phi"}));
  spec = RoutingSpec{};
  spec.kind = RoutingKind::loads;
  spec.loads = {1, 2, 3};
  CHECK(mentions(routing_problems(spec), {"3 loads", "EP rank (4)", "expert (16)"}));
  spec.loads = {1, 2, 3, -4};
  CHECK(mentions(routing_problems(spec), {"load 3 is -4"}));
  spec.loads = {0, 0, 0, 0};
  CHECK(mentions(routing_problems(spec), {"sum to 0"}));
  spec.loads = {1, 0, 0, 0};
  CHECK(routing_problems(spec) == "");

  spec.kind = RoutingKind::trace;
  spec.trace = {2, 3, 5, std::vector<std::int64_t>(30, 1)};
  CHECK(mentions(routing_problems(spec),
                 {"5 ranks", "4 EP ranks or the 16 experts", "3 layers", "2 MoE layers", "2 iterations", "3 steps"}));
  spec.trace = {3, 1, 16, std::vector<std::int64_t>(48, 1)};
  CHECK(routing_problems(spec) == "");
}

TEST_CASE("the shape of a plan's routing") {
  Model m = uniform_model(dense_kind(), 5, 1);
  CHECK(workload_shape(m, Parallelism{}, Batch{1, 1, 4096}) == WorkloadShape{});
  m.kinds.push_back(moe_kind(64, 8));
  m.layers = {0, 1, 1, 0, 1};
  m.mtp_kind = 1;
  CHECK(moe_layers(m) == std::vector<std::int64_t>{1, 2, 4, 5});
  const Parallelism p{.world_size = 64, .tp = 2, .cp = 4, .ep = 8};
  const WorkloadShape shape = workload_shape(m, p, Batch{2, 8, 4096}, 3);
  CHECK(shape == WorkloadShape{4, 64, 8, 8, 1024, 3});
  CHECK(shape.rows() == 8 * 1024 * 8);
  CHECK(shape.experts_per_rank() == 8);
}

TEST_CASE("a balancing method scales the spreads of a router under an auxiliary loss") {
  RoutingSpec spec = *routing_preset("natural");
  const RoutingSpreads natural{spec.static_sigma, spec.drift_sigma, spec.noise_sigma};
  CHECK(spreads_of(spec) == natural);
  const auto under = [&](Balancing b) {
    spec.balancing = b;
    return spreads_of(spec);
  };
  CHECK(under(Balancing::aux_loss) == natural);
  // Without a loss the spread that lasts is that of the preset that was fitted to a router without one.
  const RoutingSpreads none = under(Balancing::none);
  const RoutingSpec skewed = *routing_preset("skewed");
  CHECK(std::hypot(none.experts, none.steps) ==
        doctest::Approx(std::hypot(skewed.static_sigma, skewed.drift_sigma)).epsilon(0.01));
  CHECK(none.micro_batches > natural.micro_batches);
  // Over the global batch the same, inside a micro-batch nothing.
  const RoutingSpreads global = under(Balancing::global_batch);
  CHECK(global.experts == doctest::Approx(natural.experts));
  CHECK(global.steps == doctest::Approx(natural.steps));
  CHECK(global.micro_batches == doctest::Approx(none.micro_batches));
  const RoutingSpreads bias = under(Balancing::loss_free_bias);
  CHECK(bias.experts < 0.1 * natural.experts);
  CHECK(bias.steps < 0.1 * natural.steps);
  CHECK(bias.micro_batches == doctest::Approx(none.micro_batches));
  std::string names;
  for (const BalancingEffect& e : balancing_table()) {
    CHECK(name(e.method) == e.name);
    names += std::string(e.name) + " ";
  }
  CHECK(names == "none aux_loss global_batch loss_free_bias ");
}

TEST_CASE("an expert's capacity is counted per source rank and rounded up") {
  RoutingSpec spec;
  CHECK_FALSE(expert_capacity(spec, kShape));
  spec.capacity_factor = 1.25; // 4 ranks * ceil(1024 * 4 / 16 * 1.25)
  CHECK(expert_capacity(spec, kShape) == 4 * 320);
  spec.capacity_factor = 1.0;
  CHECK(expert_capacity(spec, WorkloadShape{1, 16, 3, 2, 7, 1}) == 2 * 2); // 21 / 16 -> 2
  CHECK(routing_problems(spec).empty());
  spec.capacity_factor = 1000.0;
  CHECK(mentions(routing_problems(spec, {1, 16, 4, 4, 1 << 20, 1}), {"routing.capacity_factor", "limit"}));
  spec.capacity_factor = 1.25;
  CHECK(mentions(routing_problems(spec, {1, 16, 4, 1, 64, 1}), {"expert_model_parallel_size 1"}));
  spec.pad_to_capacity = true;
  CHECK(routing_problems(spec, {1, 16, 4, 1, 64, 1}).empty());
  spec.capacity_factor.reset();
  CHECK(mentions(routing_problems(spec), {"routing.pad_to_capacity"}));
}

TEST_CASE("a placement holds every expert, in as many slots on every rank and layer") {
  RoutingSpec spec;
  std::vector<std::int32_t> own(16);
  for (std::size_t e = 0; e < own.size(); ++e) own[e] = static_cast<std::int32_t>(e);
  spec.expert_at.assign(2, own);
  CHECK(routing_problems(spec).empty());
  std::vector<std::int32_t> replicated = own; // 20 slots: one more on each of the four ranks
  replicated.insert(replicated.end(), {3, 3, 0, 15});
  spec.expert_at.assign(2, replicated);
  CHECK(routing_problems(spec).empty());
  spec.expert_at[1].pop_back();
  CHECK(mentions(routing_problems(spec), {"layer 1", "19", "4 EP ranks"}));
  spec.expert_at[1] = own;
  CHECK(mentions(routing_problems(spec), {"layer 1", "16"}));
  spec.expert_at.assign(2, replicated);
  spec.expert_at[0][5] = 4;
  CHECK(mentions(routing_problems(spec), {"layer 0", "16 experts"}));
  spec.expert_at[0][5] = 16;
  CHECK(mentions(routing_problems(spec), {"layer 0"}));
}
