// Routing as plain values: traces, presets, and whether a specification fits the plan.
#include "sim/domain/routing.h"

#include <doctest/doctest.h>

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
