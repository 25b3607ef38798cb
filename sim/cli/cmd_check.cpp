// tessella check and tessella memory: is the plan legal, and does it fit? No simulation.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/experiment.h"
#include "sim/domain/plan.h"
#include "sim/planner/simulate.h"
#include "sim/report/text.h"

namespace tessella {
namespace {

void print_warnings(const Scenario& scenario) {
  for (const std::string& w : scenario.warnings) fmt::print(stderr, "warning: {}\n", w);
}

int check(const ExperimentFlags& flags) {
  const Scenario s = load_experiment(flags);
  print_warnings(s);
  const Parallelism& p = s.parallelism;
  fmt::print("legal: {} GPUs = TP {} x CP {} x DP {} x PP {}; experts ETP {} x EP {} x EDP {} x PP {}\n", p.world_size,
             p.tp, p.cp, p.dp(), p.pp, p.etp, p.ep, p.edp(), p.pp);
  fmt::print("micro-batches: {}; schedule {}; layout {}\n", s.num_micro_batches(), s.schedule.name,
             to_layout(s.partition));
  const MemoryReport memory = memory_of(s, schedule_of(s), 1.0);
  fmt::print("{}\n", verdict(memory));
  return memory.fits ? kExitOk : kExitInfeasible;
}

int memory(const ExperimentFlags& flags) {
  const Scenario s = load_experiment(flags);
  print_warnings(s);
  const MemoryReport report = memory_of(s, schedule_of(s), 1.0);
  fmt::print("{}", memory_text(report, {wants_colour(), terminal_width()}));
  return report.fits ? kExitOk : kExitInfeasible;
}

} // namespace

void add_check(CLI::App& app, int& code) {
  auto flags = std::make_shared<ExperimentFlags>();
  CLI::App* command =
      app.add_subcommand("check", "Is the plan legal and does it fit? Says the nearest legal plan if not");
  add_experiment_flags(*command, *flags);
  command->footer(
      "Exit code 0: legal and fits; 2: illegal; 3: does not fit.\n"
      "Example:\n  tessella check experiments/01_qwen3_235b_h100_256/experiment.yaml --set parallelism.ep=64");
  command->callback([flags, &code] { code = guarded([&] { return check(*flags); }); });
}

void add_memory(CLI::App& app, int& code) {
  auto flags = std::make_shared<ExperimentFlags>();
  CLI::App* command = app.add_subcommand("memory", "Peak memory of each pipeline rank, by part");
  add_experiment_flags(*command, *flags);
  command->footer("Example:\n  tessella memory experiments/01_qwen3_235b_h100_256/experiment.yaml --set batch.mbs=2");
  command->callback([flags, &code] { code = guarded([&] { return memory(*flags); }); });
}

} // namespace tessella
