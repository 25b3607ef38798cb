// tessella plan: which layers each stage should hold, next to what other systems would choose, with a certificate.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include "sim/base/atomic_file.h"
#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/experiment.h"
#include "sim/cli/pair.h"
#include "sim/config/plan_yaml.h"
#include "sim/planner/make_plan.h"
#include "sim/planner/partition/solver_race.h"
#include "sim/planner/search/placement_study.h"
#include "sim/report/plan_text.h"
#include "sim/report/solver_text.h"

namespace tessella {
namespace {

struct PlanFlags {
  ExperimentFlags experiment;
  PlanOptions options;
  std::string solver = "threshold";
  std::string out;
  std::string json;
  std::string pair;
  bool solvers = false;
  bool experts = false;
  std::optional<std::int32_t> replicas;
};

constexpr std::int32_t kSwaps = 64; // of a layer; more find next to nothing

void print(const PlanFlags& flags, const std::string& text, const std::string& json) {
  if (!flags.json.empty() && flags.json != "-") write_file(flags.json, json);
  fmt::print("{}", flags.json == "-" ? json : text);
}

// Exit code 3 when the neighbourhood holds no partition that fits.
int solvers(const PlanFlags& flags) {
  const Scenario scenario = load_experiment(flags.experiment);
  const SolverRace race = race_solvers(scenario, {flags.options.radius});
  print(flags, solver_text(scenario.name, race), solver_json(scenario.name, race));
  return race.solvers.empty() ? kExitInfeasible : kExitOk;
}

int plan(const PlanFlags& flags) {
  if (!flags.pair.empty()) {
    PairFlags pair;
    pair.experiment = flags.experiment;
    pair.pair = flags.pair;
    return show_pair(pair);
  }
  Scenario scenario = load_experiment(flags.experiment);
  for (const std::string& w : scenario.warnings) fmt::print(stderr, "warning: {}\n", w);
  PlanOptions options = flags.options;
  options.reference_milp = flags.solver == "cbc";
  std::optional<PlanExperts> experts;
  if (flags.experts || flags.replicas) {
    experts = flags.replicas ? replicated_experts(scenario, *flags.replicas) : migrated_experts(scenario, kSwaps);
    scenario.routing.expert_at = experts->expert_at;
  }
  PlanFile result = make_plan(scenario, options);
  result.experts = std::move(experts);
  if (!flags.out.empty()) write_file(flags.out, to_yaml(result));
  print(flags, plan_text(result, scenario.parallelism), plan_json(result));
  return kExitOk;
}

} // namespace

void add_plan(CLI::App& app, int& code) {
  auto flags = std::make_shared<PlanFlags>();
  flags->options.threads = std::max(1U, std::thread::hardware_concurrency());
  CLI::App* command =
      app.add_subcommand("plan", "Find the best partition of the layers over the stages, with a certificate");
  add_experiment_flags(*command, flags->experiment);
  add_order_flags(*command, flags->experiment);
  command->add_option("-o,--output", flags->out, "write plan.yaml, with the order of every pair; `run --plan` runs it")
      ->type_name("FILE");
  command->add_option("--json", flags->json, "the plan as JSON; - for standard output")->type_name("FILE");
  command
      ->add_option("--pair", flags->pair, "plan nothing: show how two stages share a GPU, as F:3,B:7 (tessella pair)")
      ->type_name("PAIR");
  command
      ->add_option("--pair-costs", flags->options.pair_costs,
                   "keep what pairs cost in this CSV; used again while its inputs' hash is the same")
      ->type_name("FILE");
  command->add_flag("--explain", flags->options.explain, "also simulate what more bandwidth or more batches would buy");
  command->add_option("--radius", flags->options.radius, "how many layers a stage boundary may move")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  command->add_option("--refine", flags->options.refine_rounds, "rounds of refinement on simulated step time")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->add_option("--solver", flags->solver, "threshold: our exact search; cbc: the reference MILP")
      ->check(CLI::IsMember({"threshold", "cbc"}))
      ->capture_default_str();
  command->add_flag("--experts", flags->experts,
                    "migrate experts first (tessella experts): the plan says where they live, and `run --plan` obeys");
  command
      ->add_option("--replicas", flags->replicas,
                   "place experts with replicas (EPLB): expert slots of an EP group, more than it has experts")
      ->check(CLI::Range(1, 1 << 20));
  command->add_flag("--solvers", flags->solvers,
                    "no plan: how large the partition problem is, and what each solver proves how fast");
  command->add_option("--threads", flags->options.threads, "threads; results do not depend on it")
      ->check(CLI::Range(1U, 1024U));
  command->footer(
      "Examples:\n  tessella plan experiments/01_qwen3_235b_h100_256/experiment.yaml -o plan.yaml --explain\n"
      "  tessella plan experiments/01_qwen3_235b_h100_256/overlap.yaml --overlap align_defer -o plan.yaml\n"
      "  tessella plan experiments/17_imbalance_throughput/experiment.yaml --replicas 144 -o plan.yaml\n"
      "Exit code 3: no partition fits into memory.");
  command->callback(
      [flags, &code] { code = guarded([&] { return flags->solvers ? solvers(*flags) : plan(*flags); }); });
}

} // namespace tessella
