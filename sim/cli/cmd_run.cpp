// tessella run: simulate an experiment and say where the step goes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/experiment.h"
#include "sim/cli/html_file.h"
#include "sim/cli/progress.h"
#include "sim/exec/lower.h"
#include "sim/exec/routed_loads.h"
#include "sim/planner/simulate.h"
#include "sim/planner/step_traffic.h"
#include "sim/report/csv.h"
#include "sim/report/json.h"
#include "sim/report/text.h"
#include "sim/report/timeline.h"
#include "sim/report/trace.h"

namespace tessella {
namespace {

struct RunFlags {
  ExperimentFlags experiment;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::string json;
  std::string csv;
  std::string report;
  std::string trace;
  std::vector<std::int32_t> trace_ranks;
  std::vector<std::int32_t> trace_steps; // default: the first that counts
  std::string precision;
  bool capacity = false;
  bool regret = false;
  bool timeline = false;
  bool detail = false;
  bool no_fold = false;
};

std::vector<std::int32_t> traced_steps(const RunFlags& flags, const Scenario& scenario) {
  if (flags.trace_steps.empty()) return {static_cast<std::int32_t>(scenario.warm_up)};
  for (const std::int32_t step : flags.trace_steps)
    if (step < scenario.warm_up || step >= scenario.steps)
      throw InputError("--trace-steps", fmt::format("step {} is not run{}; steps are {} to {}", step,
                                                    scenario.warm_up > 0 ? " after the warm-up" : "", scenario.warm_up,
                                                    scenario.steps - 1));
  return flags.trace_steps;
}

// By default the first rank of each pipeline position of the first replica.
TraceRequest trace_request(const RunFlags& flags, const Scenario& scenario) {
  TraceRequest request;
  if (flags.trace.empty() && flags.report.empty() && !flags.timeline && !flags.detail) return request;
  request.ranks = flags.trace_ranks;
  const auto world = static_cast<std::int32_t>(scenario.parallelism.world_size);
  for (const std::int32_t rank : request.ranks)
    if (rank < 0 || rank >= world)
      throw InputError("--trace-ranks", fmt::format("rank {} does not exist; ranks are 0 to {}", rank, world - 1));
  if (request.ranks.empty())
    for (std::int32_t p = 0; p < scenario.parallelism.pp; ++p)
      request.ranks.push_back(p * (world / static_cast<std::int32_t>(scenario.parallelism.pp)));
  std::sort(request.ranks.begin(), request.ranks.end());
  request.steps = traced_steps(flags, scenario);
  return request;
}

// "0.5%" or "0.005".
double fraction_of(const std::string& text) {
  std::size_t used = 0;
  double value = 0.0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = std::string::npos;
  }
  const bool percent = used != std::string::npos && text.substr(used) == "%";
  if (used == std::string::npos || (!percent && used != text.size()) || !(value > 0.0) || value > 100.0)
    throw InputError("--precision", fmt::format("'{}' is no precision; write 0.5% or 0.005", text));
  return percent ? value / 100.0 : value;
}

// "-" is standard output, where then nothing else goes.
void write_text(const std::string& path, const std::string& text) {
  if (path == "-")
    fmt::print("{}", text);
  else
    write_file(path, text);
}

void print_result(const RunFlags& flags, const Scenario& scenario, const RunResult& result) {
  const TextStyle style{wants_colour(), terminal_width()};
  fmt::print("{}{}{}", headline_text(scenario, result, style), ledger_text(scenario, result, style),
             filler_text(scenario, result, style));
  fmt::print("{}", phases_text(result, style) + adaptation_text(result, style));
  if (flags.capacity) fmt::print("{}", capacity_text(result, style));
  if (!result.memory.fits) fmt::print("{}", memory_text(result.memory, style));
  if (!flags.timeline) return;
  for (const std::int32_t step : traced_steps(flags, scenario))
    fmt::print("{}", timeline_text(result, {step, style.width}));
}

// The same run without a filler and under the bound.
void print_regret(const Scenario& scenario, RunOptions options, const RunResult& result) {
  options.trace = {};
  const auto under = [&](const char* policy) {
    Scenario other = scenario;
    other.bubble_filler.policy = policy;
    return simulate(other, options);
  };
  fmt::print("{}", regret_text(result, under("none"), under("clairvoyant"), {wants_colour(), terminal_width()}));
}

// The same run with experts that stay where they are.
void print_migration_gain(const Scenario& scenario, RunOptions options, const RunResult& result) {
  options.trace = {};
  Scenario still = scenario;
  still.expert_migration.method = MigrationMethod::none;
  fmt::print("{}", migration_gain_text(result, simulate(still, options), {wants_colour(), terminal_width()}));
}

int run(const RunFlags& flags) {
  const Progress clock("simulating");
  auto progress = std::make_shared<Progress>("simulated steps");
  const Scenario scenario = load_experiment(flags.experiment);
  RunOptions options;
  options.threads = flags.threads;
  options.fold_identical_replicas = !flags.no_fold;
  options.trace = trace_request(flags, scenario);
  options.stop = &interrupt_flag();
  if (!flags.precision.empty()) options.enough = enough_at(fraction_of(flags.precision));
  options.progress = [progress](std::int64_t done, std::int64_t total) { progress->update(done, total); };
  RunResult result = simulate(scenario, options);
  if ((!flags.json.empty() || !flags.report.empty()) && !is_uniform(scenario.profile)) {
    result.load_rows = first_step_loads(scenario);
    result.traffic = step_traffic(scenario);
  }
  if (!flags.trace.empty()) {
    const auto dropped = write_trace_file(scenario, result, flags.trace);
    if (dropped) result.warnings.push_back(*dropped);
  }
  result.sim.wall_s = clock.seconds();
  result.sim.peak_rss_bytes = peak_rss_bytes();
  if (!flags.csv.empty()) {
    write_text(flags.csv + ".ranks.csv", rank_ledger_csv(scenario, result));
    write_text(flags.csv + ".stages.csv", stage_csv(scenario, result));
  }
  if (!flags.json.empty()) write_text(flags.json, run_json(scenario, result, {flags.detail}));
  if (!flags.report.empty()) {
    const ReportInput input{scenario.name, run_json(scenario, result, {true})};
    write_report(flags.report, {&input, 1});
  }
  if (flags.json != "-") print_result(flags, scenario, result);
  if (flags.json != "-" && flags.regret) print_regret(scenario, options, result);
  if (flags.json != "-" && result.migration.moves > 0) print_migration_gain(scenario, options, result);
  const TextStyle plain{false, 80};
  fmt::print(stderr, "{}{}", warnings_text(scenario, result, plain), simulation_text(result));
  if (result.partial) return kExitInterrupted;
  return result.memory.fits ? kExitOk : kExitInfeasible;
}

} // namespace

void add_run(CLI::App& app, int& code) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand("run", "Simulate an experiment: step time, MFU, memory, where the time goes");
  add_experiment_flags(*command, flags->experiment);
  add_order_flags(*command, flags->experiment);
  command->add_option("--plan", flags->experiment.plan, "a plan of `tessella plan -o`: its partition and pair orders")
      ->type_name("PLAN.yaml");
  command->add_option("--policy", flags->experiment.policy, "bubble filler (tessella list policies)");
  command->add_option("--preset", flags->experiment.preset, "run it as another system would (tessella list presets)");
  command->add_option("--steps", flags->experiment.steps,
                      "how many steps to simulate; simulation.warm_up of them are not counted");
  command
      ->add_option("--precision", flags->precision,
                   "end early once the mean step time is known this well (95 %), e.g. 0.5%")
      ->type_name("0.5%");
  command->add_option("--threads", flags->threads, "threads; results do not depend on it")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  command->add_option("--json", flags->json, "result as JSON; - for standard output")->type_name("FILE");
  command->add_flag("--detail", flags->detail, "in the JSON also every rank's ledger and the traced ranks over time");
  command->add_option("--report", flags->report, "the result as one HTML file that opens without a network")
      ->type_name("FILE.html");
  command->add_option("--csv", flags->csv, "PREFIX.ranks.csv and PREFIX.stages.csv")->type_name("PREFIX");
  command->add_option("--trace", flags->trace, "Chrome trace for ui.perfetto.dev; .gz compresses")->type_name("FILE");
  command->add_option("--trace-ranks", flags->trace_ranks, "ranks to trace (default: one per pipeline position)")
      ->delimiter(',');
  command->add_option("--trace-steps", flags->trace_steps, "steps to trace (default: the first that counts)")
      ->delimiter(',');
  command->add_flag("--capacity", flags->capacity, "what limits the run: stage imbalance, routing, fabric");
  command->add_flag("--regret", flags->regret, "run again without bubble filler and under its upper bound");
  command->add_flag("--timeline", flags->timeline, "draw the traced ranks over time");
  command->add_flag("--no-fold", flags->no_fold, "simulate identical replicas one by one");
  command->footer(
      "Examples:\n  tessella run experiments/02_qwen3_next_12288/experiment.yaml --timeline --trace out.json.gz\n"
      "  tessella run experiments/02_qwen3_next_12288/experiment.yaml --steps 1000 --precision 1%\n"
      "  tessella run experiments/17_imbalance_throughput/experiment.yaml --set moe.token_dispatcher_type=alltoall "
      "--set routing={kind: generator, balancing: loss_free_bias, capacity_factor: 1.25}\n"
      "Exit code 3: the plan runs but does not fit into memory.");
  command->callback([flags, &code] { code = guarded([&] { return run(*flags); }); });
}

} // namespace tessella
