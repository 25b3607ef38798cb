#include "sim/cli/experiment.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <thread>

#include "sim/config/load.h"
#include "sim/config/plan_yaml.h"
#include "sim/domain/legality.h"
#include "sim/exec/fill_policies.h"
#include "sim/planner/presets.h"
#include "sim/schedule/table.h"

namespace tessella {

void add_experiment_flags(CLI::App& command, ExperimentFlags& flags) {
  command.add_option("experiment", flags.file, "the experiment.yaml")->required()->type_name("EXP.yaml");
  command
      .add_option(
          "--set", flags.overrides,
          "override a value, e.g. --set parallelism.ep=64, --set 'topology.node.nic.bandwidth=25 GB/s' (repeatable)")
      ->type_name("a.b=v")
      ->allow_extra_args(false);
  command.add_option("--seed", flags.seed, "seed of routing and jitter");
}

namespace {

// What the schedule table says of a scenario that is legal otherwise.
std::vector<Violation> schedule_rules(const Scenario& s) {
  const auto illegal = check_schedule_spec(s.schedule, static_cast<std::int32_t>(s.parallelism.pp),
                                           static_cast<std::int32_t>(s.parallelism.vpp),
                                           static_cast<std::int32_t>(s.num_micro_batches()));
  if (!illegal) return {};
  std::string suggestion;
  if (illegal->nearest) suggestion = illegal->parameter + ": " + std::to_string(*illegal->nearest);
  return {{"schedule.name", illegal->rule, suggestion, {}}};
}

// Swaps in the partition of flags.plan.
Scenario with_plan(const ExperimentFlags& flags, Scenario scenario) {
  if (flags.plan.empty()) return scenario;
  const std::string renew = "tessella plan " + flags.file + " -o " + flags.plan;
  if (const auto problem = adopt_plan(load_plan(flags.plan), renew, scenario))
    throw InputError(SourceSpan{flags.plan, 0, 0, 0, {}}, *problem);
  return scenario;
}

Scenario with_preset(const ExperimentFlags& flags, Scenario scenario) {
  if (flags.preset.empty()) return scenario;
  const Preset& preset = preset_named("--preset", flags.preset);
  if (const auto problem = preset_problem(preset, scenario))
    throw InputError("--preset", fmt::format("{} cannot run {}: {}", flags.preset, scenario.name, *problem));
  return apply_preset(preset, scenario, std::max(1U, std::thread::hardware_concurrency()));
}

} // namespace

LoadOptions experiment_rules() {
  LoadOptions options;
  for (const ScheduleInfo& row : schedule_table()) {
    options.schedules.emplace_back(row.name);
    for (const std::string_view alias : row.aliases) options.schedules.emplace_back(alias);
  }
  for (const FillPolicy& policy : fill_policy_table()) options.fill_policies.emplace_back(policy.name);
  options.more_rules = schedule_rules;
  return options;
}

Scenario load_experiment(const ExperimentFlags& flags) {
  LoadOptions options = experiment_rules();
  options.overrides = flags.overrides;
  if (!flags.schedule.empty()) options.overrides.push_back("schedule.name=" + flags.schedule);
  if (!flags.policy.empty()) options.overrides.push_back("bubble_filler.policy=" + flags.policy);
  options.seed = flags.seed;
  options.steps = flags.steps;
  return with_preset(flags, with_plan(flags, load_scenario(flags.file, options)));
}

const Preset& preset_named(const std::string& flag, const std::string& name) {
  if (const Preset* preset = find_preset(name)) return *preset;
  std::string known;
  for (const Preset& p : preset_table()) known += fmt::format("{}{}", known.empty() ? "" : ", ", p.name);
  throw InputError(flag, fmt::format("unknown preset '{}'; there are {}", name, known));
}

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0');
}

int terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::clamp<int>(size.ws_col, 60, 200);
  return 80;
}

} // namespace tessella
