// tessella compare: two results, or two experiments, side by side.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <thread>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/experiment.h"
#include "sim/cli/progress.h"
#include "sim/config/read_result.h"
#include "sim/planner/compare_schedules.h"
#include "sim/planner/presets.h"
#include "sim/planner/simulate.h"
#include "sim/report/comparison.h"
#include "sim/report/json.h"
#include "sim/report/preset_text.h"
#include "sim/report/schedules_text.h"

namespace tessella {
namespace {

struct CompareFlags {
  std::string before;
  std::string after;
  std::vector<std::string> overrides;
  std::vector<std::string> overrides_after;
  std::vector<std::string> schedules;
  ComparisonBasis basis = ComparisonBasis::devices;
  double tie = kDefaultTie;
  std::string json;
  std::vector<std::string> presets;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
};

bool is_experiment(const std::string& file) {
  return file.ends_with(".yaml") || file.ends_with(".yml");
}

FlatResult run(const std::string& file, const std::vector<std::string>& overrides, unsigned threads) {
  ExperimentFlags experiment;
  experiment.file = file;
  experiment.overrides = overrides;
  const Scenario scenario = load_experiment(experiment);
  RunOptions options;
  options.threads = threads;
  options.stop = &interrupt_flag();
  std::string name = file;
  for (const std::string& text : overrides) name += " --set " + text;
  return read_result_text(name, run_json(scenario, simulate(scenario, options)));
}

int compare_orders(const CompareFlags& flags) {
  if (!flags.after.empty())
    throw InputError("--schedules", "compares schedules of one experiment; leave out " + flags.after);
  ExperimentFlags experiment;
  experiment.file = flags.before;
  experiment.overrides = flags.overrides;
  const Scenario scenario = load_experiment(experiment);
  for (const std::string& w : scenario.warnings) fmt::print(stderr, "warning: {}\n", w);
  RunOptions options;
  options.threads = flags.threads;
  options.stop = &interrupt_flag();
  const ScheduleComparison comparison = compare_schedules(scenario, flags.schedules, flags.basis, options);
  if (!flags.json.empty() && flags.json != "-") write_file(flags.json, schedules_json(comparison));
  fmt::print("{}", flags.json == "-" ? schedules_json(comparison) : schedules_text(comparison));
  return kExitOk;
}

int compare_files(const CompareFlags& flags) {
  std::vector<std::string> second = flags.overrides;
  second.insert(second.end(), flags.overrides_after.begin(), flags.overrides_after.end());
  const bool runs_before = is_experiment(flags.before);
  const bool runs_after = is_experiment(flags.after);
  FlatResult a = runs_before ? run(flags.before, flags.overrides, flags.threads) : read_result(flags.before);
  FlatResult b = runs_after ? run(flags.after, second, flags.threads) : read_result(flags.after);
  if (runs_before && runs_after) { // the files say more than the plan they lead to
    a.settings = experiment_settings(flags.before, flags.overrides);
    b.settings = experiment_settings(flags.after, second);
  }
  const Comparison comparison = compare(a, b, flags.tie);
  if (flags.json == "-") {
    fmt::print("{}", comparison_json(comparison));
    return kExitOk;
  }
  if (!flags.json.empty()) write_file(flags.json, comparison_json(comparison));
  fmt::print("{}", comparison_text(comparison));
  return kExitOk;
}

// "all" or names.
std::vector<const Preset*> chosen_presets(const std::vector<std::string>& names) {
  std::vector<const Preset*> chosen;
  for (const std::string& name : names) {
    if (name != "all")
      chosen.push_back(&preset_named("--presets", name));
    else
      for (const Preset& preset : preset_table()) chosen.push_back(&preset);
  }
  return chosen;
}

// Exit code 3 when none of them can run and fits.
int compare_in_presets(const CompareFlags& flags) {
  if (!flags.after.empty() || !flags.overrides_after.empty())
    throw InputError("--presets", "compares presets on one experiment; leave B and --set-b out");
  const std::vector<const Preset*> presets = chosen_presets(flags.presets);
  ExperimentFlags experiment;
  experiment.file = flags.before;
  experiment.overrides = flags.overrides;
  const Scenario scenario = load_experiment(experiment);
  RunOptions options;
  options.threads = flags.threads;
  options.stop = &interrupt_flag();
  const std::vector<PresetRow> rows = compare_presets(presets, scenario, options);
  if (!flags.json.empty() && flags.json != "-") write_file(flags.json, preset_json(scenario.name, rows));
  fmt::print("{}", flags.json == "-" ? preset_json(scenario.name, rows) : preset_text(scenario.name, rows));
  const bool any = std::any_of(rows.begin(), rows.end(), [](const PresetRow& r) { return !r.problem && r.fits(); });
  return any ? kExitOk : kExitInfeasible;
}

int compare_command(const CompareFlags& flags) {
  if (!flags.presets.empty()) return compare_in_presets(flags);
  if (!flags.schedules.empty()) return compare_orders(flags);
  if (flags.after.empty()) throw InputError("compare", "needs B, --schedules or --presets");
  return compare_files(flags);
}

} // namespace

void add_compare(CLI::App& app, int& code) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* command = app.add_subcommand("compare", "Two results or experiments, or several schedules: what differs");
  command->add_option("a", flags->before, "result of run --json, or experiment.yaml")->required()->type_name("A");
  command->add_option("b", flags->after, "the other one")->type_name("B");
  command
      ->add_option("--schedules", flags->schedules, "instead of B: schedules to run A under (tessella list schedules)")
      ->delimiter(',')
      ->type_name("S1,S2");
  command->add_option("--basis", flags->basis, "what is equal for all schedules: devices or stages")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ComparisonBasis>{{"devices", ComparisonBasis::devices},
                                                                                 {"stages", ComparisonBasis::stages}}))
      ->default_str("devices");
  command
      ->add_option("--presets", flags->presets,
                   "one table of what other systems would do with experiment A: names, or all (tessella list presets)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("a,b|all");
  command->add_option("--set", flags->overrides, "override a value in each experiment (repeatable)")
      ->type_name("a.b=v")
      ->allow_extra_args(false);
  command->add_option("--set-b", flags->overrides_after, "override a value in B only (repeatable)")
      ->type_name("a.b=v")
      ->allow_extra_args(false);
  command->add_option("--tie", flags->tie, "relative difference that counts as a tie")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "threads; results do not depend on it")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  command->add_option("--json", flags->json, "comparison as JSON; - for standard output")->type_name("FILE");
  command->footer("Examples: what does a wider expert group change? Which schedule is best on these GPUs?\n"
                  "  tessella compare exp.yaml exp.yaml --set-b parallelism.ep=16\n"
                  "  tessella compare exp.yaml --schedules 1f1b,zb_v,dualpipe_v,dualpipe\n"
                  "What would other systems make of it?\n"
                  "  tessella compare exp.yaml --presets all");
  command->callback([flags, &code] { code = guarded([&] { return compare_command(*flags); }); });
}

} // namespace tessella
