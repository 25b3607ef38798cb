// Expected numbers of the experiments on plans: expected/*.yaml whose `study` is one of these.
//
//   solvers  the partition problem (`radius`) of one experiment: sizes, distinct pairs, what is proven, how fast.
//            `cbc: false` leaves the reference out where it takes minutes; cbc_agrees then is 1
//   flip     the same experiment planned without overlap (partition A) and with it (B), each run both ways:
//            b_over_a_without, a_over_b_with; gain_over_uniform_with, gain_over_uniform_without
//   ladder   Piper's estimates of measured runs (`runs`: model,nodes,pp,ep,micro_batches,tflops; `seq`) with one fitted
//            rate: rate_tflops, error_max
//   constraints  plans left after Piper's five constraints, exactly: each number has a `model`, five `left`, and the
//            `repaired` left after the fifth with tokens per rank (`nodes`, `seq`, `micro_batches`)
#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sim/config/csv.h"
#include "sim/config/load.h"
#include "sim/planner/make_plan.h"
#include "sim/planner/partition/baselines.h"
#include "sim/planner/partition/solver_race.h"
#include "sim/planner/search/piper.h"
#include "sim/planner/simulate.h"
#include "tests/support/expected_numbers.h"

using namespace tessella;
namespace fs = std::filesystem;

namespace {

using Numbers = std::map<std::string, double>;

Scenario scenario_of(const YAML::Node& study, const fs::path& folder) {
  LoadOptions options;
  if (study["set"])
    for (const auto& item : study["set"]) options.overrides.push_back(item.as<std::string>());
  return load_scenario(folder / study["experiment"].as<std::string>(), options);
}

Numbers solver_numbers(const Scenario& s, const YAML::Node& study) {
  SolverRaceOptions options;
  options.radius = study["radius"].as<std::int32_t>();
  options.with_cbc = study["cbc"].as<bool>();
  const SolverRace race = race_solvers(s, options);
  REQUIRE(!race.solvers.empty());
  const SolverRun& own = race.solvers.front();
  Numbers n;
  n["equation_variables"] = static_cast<double>(race.equation_variables);
  n["equation_variables_pruned"] = static_cast<double>(race.equation_pruned);
  n["pairs"] = static_cast<double>(race.pairs_distinct);
  n["proven"] = own.proven() ? 1.0 : 0.0;
  n["threshold_cpu_s"] = own.cpu_s;
  n["cbc_agrees"] = 1.0;
  for (const SolverRun& run : race.solvers)
    if (!run.proven() || run.bottleneck != own.bottleneck) n["cbc_agrees"] = 0.0;
  return n;
}

// Seconds of a step with and without overlap.
struct BothWays {
  double with = 0.0;
  double without = 0.0;
};

Numbers flip_numbers(const Scenario& with) {
  Scenario without = with;
  without.schedule.overlap_moe_expert_parallel_comm = without.schedule.delay_wgrad_compute = false;
  const auto run = [&](const Partition& p) {
    Scenario a = with;
    Scenario b = without;
    a.partition = b.partition = p;
    return BothWays{simulate(a, {}).step_time.seconds(), simulate(b, {}).step_time.seconds()};
  };
  PlanOptions options;
  options.threads = 2;
  const BothWays a = run(make_plan(without, options).best.partition);
  const BothWays b = run(make_plan(with, options).best.partition);
  const BothWays uniform = run(uniform_partition(with.model, with.parallelism.num_stages()));
  return {{"b_over_a_without", b.without / a.without},
          {"a_over_b_with", a.with / b.with},
          {"gain_over_uniform_with", uniform.with / b.with - 1.0},
          {"gain_over_uniform_without", uniform.without / b.with - 1.0}};
}

Numbers ladder_numbers(const YAML::Node& study, const fs::path& folder) {
  const fs::path file = folder / study["runs"].as<std::string>();
  std::vector<PiperRun> runs;
  for (const CsvRow& row : read_csv(Source::file(file.string(), read_file(file))).rows) {
    const auto whole = [&](std::size_t i) { return std::stoll(row.fields[i]); };
    const auto in = piper_inputs(load_model("models/" + row.fields[0] + ".yaml"), study["seq"].as<std::int64_t>());
    REQUIRE(in);
    PiperRun run{in->model, {}, {whole(2), whole(3), whole(4)}, in->expert_matrices, 1e12 * std::stod(row.fields[5])};
    run.cluster.nodes = whole(1);
    run.model.global_batch = run.plan.ep * run.plan.micro_batches;
    runs.push_back(run);
  }
  const double rate = fit_rate(runs, 191.5e12);
  Numbers n{{"rate_tflops", rate / 1e12}, {"error_max", 0.0}};
  for (const PiperRun& r : runs) {
    const PiperEstimate e = piper_estimate(r.model, r.cluster, r.plan, rate, r.expert_matrices);
    n["error_max"] = std::max(n["error_max"], std::abs(e.flops_per_gpu / r.measured_flops_per_gpu - 1.0));
  }
  return n;
}

void check_constraints(const YAML::Node& study, const YAML::Node& number) {
  const auto name = number["model"].as<std::string>();
  CAPTURE(name);
  const auto in = piper_inputs(load_model("models/" + name + ".yaml"), study["seq"].as<std::int64_t>());
  REQUIRE(in);
  const auto micro_batches = study["micro_batches"].as<std::int64_t>();
  PiperCluster cluster;
  cluster.nodes = study["nodes"].as<std::int64_t>();
  cluster.flash_attention = true;
  const PiperModel model = with_widest_batch(in->model, cluster, micro_batches, 1);
  CHECK(piper_search(model, cluster, micro_batches).left == number["left"].as<std::array<std::int64_t, 5>>());
  cluster.per_rank_tokens = true;
  CHECK(piper_search(model, cluster, micro_batches).left[4] == number["repaired"].as<std::int64_t>());
  REQUIRE(!number["reason"].as<std::string>().empty());
}

Numbers numbers_of(const YAML::Node& study, const fs::path& folder) {
  const auto kind = study["study"].as<std::string>();
  if (kind == "ladder") return ladder_numbers(study, folder);
  const Scenario s = scenario_of(study, folder);
  return kind == "solvers" ? solver_numbers(s, study) : flip_numbers(s);
}

void check(const YAML::Node& number, const Numbers& numbers) {
  const auto key = number["key"].as<std::string>();
  REQUIRE_MESSAGE(numbers.count(key) == 1, key);
  testing::check_number(number, numbers.at(key));
}

} // namespace

TEST_CASE("Experiments on plans give their expected numbers") {
  int studies = 0;
  for (const fs::path& file : testing::expected_files()) {
    const YAML::Node study = YAML::LoadFile(file.string());
    if (!study["study"]) continue;
    const auto kind = study["study"].as<std::string>();
    if (kind != "solvers" && kind != "flip" && kind != "ladder" && kind != "constraints") continue;
    CAPTURE(file.string());
    ++studies;
    if (kind == "constraints") {
      for (const YAML::Node& number : study["numbers"]) check_constraints(study, number);
      continue;
    }
    const Numbers numbers = numbers_of(study, file.parent_path().parent_path());
    REQUIRE(study["numbers"].size() > 0);
    for (const YAML::Node& number : study["numbers"]) check(number, numbers);
  }
  CHECK(studies >= 8);
}
