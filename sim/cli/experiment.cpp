#include "sim/cli/experiment.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "sim/base/nearest.h"
#include "sim/config/load.h"
#include "sim/config/order_yaml.h"
#include "sim/config/plan_yaml.h"
#include "sim/domain/legality.h"
#include "sim/exec/fill_policies.h"
#include "sim/exec/lower.h"
#include "sim/planner/overlap/pair_candidates.h"
#include "sim/planner/overlap/pair_orders.h"
#include "sim/planner/presets.h"
#include "sim/planner/simulate.h"
#include "sim/schedule/table.h"
#include "sim/schedule/torch_csv.h"

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

// An imported order fits one set of sizes.
std::vector<Violation> imported_rules(const Scenario& s) {
  const Schedule& order = *s.imported;
  std::vector<Violation> violations;
  const auto compare = [&](const char* key, std::int64_t mine, std::int64_t its, const char* what,
                           const std::string& suggestion) {
    if (mine != its)
      violations.push_back(
          {key, fmt::format("{} has {} {}, the experiment {}", *s.schedule.file, its, what, mine), suggestion, {}});
  };
  const Parallelism& p = s.parallelism;
  compare("parallelism.pipeline_model_parallel_size", p.pp, order.num_ranks, "pipeline ranks",
          fmt::format("pipeline_model_parallel_size: {}", order.num_ranks));
  if (order.num_stages % order.num_ranks != 0)
    violations.push_back({"schedule.file",
                          fmt::format("{} has {} stages on {} ranks; only whole chunks per rank can be run",
                                      *s.schedule.file, order.num_stages, order.num_ranks),
                          "",
                          {}});
  else
    compare("parallelism.num_virtual_stages_per_pipeline_rank", p.vpp, order.num_stages / order.num_ranks,
            "stages per rank",
            fmt::format("num_virtual_stages_per_pipeline_rank: {}", order.num_stages / order.num_ranks));
  compare("batch.global_batch_size", s.num_micro_batches(), order.num_micro_batches, "micro-batches",
          fmt::format("global_batch_size: {}", order.num_micro_batches * s.batch.micro_batch_size * p.dp()));
  return violations;
}

// What the schedule table says of a scenario that is legal otherwise.
std::vector<Violation> schedule_rules(const Scenario& s) {
  if (s.imported) return imported_rules(s);
  const auto illegal = check_schedule_spec(s.schedule, static_cast<std::int32_t>(s.parallelism.pp),
                                           static_cast<std::int32_t>(s.parallelism.vpp),
                                           static_cast<std::int32_t>(s.num_micro_batches()));
  if (!illegal) return {};
  std::string suggestion;
  if (illegal->nearest) suggestion = illegal->parameter + ": " + std::to_string(*illegal->nearest);
  return {{"schedule.name", illegal->rule, suggestion, {}}};
}

Schedule import_schedule(const std::string& file, const std::string& text, std::vector<std::string>& notes) {
  ImportedSchedule imported = import_torch_csv(text, file, std::filesystem::path(file).filename().string());
  for (const std::string& note : imported.notes) notes.push_back(file + ": " + note);
  return std::move(imported.schedule);
}

// Swaps in the partition and the pair orders of flags.plan.
void adopt_plan_file(const ExperimentFlags& flags, Scenario& scenario) {
  const std::string renew = "tessella plan " + flags.file + " -o " + flags.plan;
  const PlanFile plan = load_plan(flags.plan);
  const auto refuse = [&](const std::string& problem) {
    throw InputError(SourceSpan{flags.plan, 0, 0, 0, {}}, problem);
  };
  if (const auto problem = adopt_plan(plan, renew, scenario)) refuse(*problem);
  scenario.overlap.source = display_path(flags.plan);
  if (plan.pairs.orders.empty() || !flags.overlap.empty()) return;
  if (plan.pairs.costs != costs_hash(ChunkLibrary(scenario, make_model_ops(scenario))))
    refuse("the plan is stale: what its pairs cost has changed since (an override, or another version of the "
           "program); renew it: " +
           renew + ", with the same overrides");
}

// --overlap: a scheduler for all pairs, or the orders of a file for those that it names.
void adopt_overlap(const std::string& overlap, Scenario& scenario) {
  if (overlap.empty()) return;
  if (parse_overlap_method(overlap)) {
    scenario.overlap = {overlap, {}, {}};
    return;
  }
  std::error_code error;
  if (!std::filesystem::exists(overlap, error)) {
    std::vector<std::string> names;
    std::string list;
    for (const OverlapMethod m : kOverlapMethods) {
      names.emplace_back(name(m));
      list += (list.empty() ? "" : ", ") + names.back();
    }
    throw InputError("--overlap", fmt::format("'{}' is neither a file nor one of {}{}", overlap, list,
                                              did_you_mean(overlap, names)));
  }
  scenario.overlap.orders = load_pair_orders(overlap);
  scenario.overlap.source = display_path(overlap);
}

// Given orders against the tasks there are. The position of what is wrong is looked up in the file again.
void check_overlap(const ExperimentFlags& flags, Scenario& scenario) {
  const bool asked = scenario.overlap.scheduler != OverlapSpec{}.scheduler || !scenario.overlap.orders.empty();
  if (!asked) return;
  const Schedule schedule = schedule_of(scenario);
  const bool paired = !overlap_edges(schedule).empty();
  if (is_uniform(scenario.profile) || !paired) {
    const std::string text =
        paired ? fmt::format("profile {} says nothing of how pairs overlap", scenario.profile.name)
               : fmt::format("schedule {} co-schedules no pairs; set schedule.overlap_moe_expert_parallel_comm",
                             schedule.name);
    if (!flags.overlap.empty()) throw InputError("--overlap", text);
    scenario.warnings.push_back("schedule.overlap is not used: " + text);
    return;
  }
  const ChunkLibrary chunks(scenario, make_model_ops(scenario));
  const auto wrong = check_given_orders(scenario.overlap, chunks, scenario.partition, schedule);
  if (!wrong) return;
  const TaskPlace place{wrong->order, wrong->problem.lane == OpLane::ep ? "ep" : "compute",
                        wrong->problem.task.value_or(std::string::npos)};
  const PairOrder& order = scenario.overlap.orders[wrong->order];
  std::vector<Note> notes;
  if (!order.first.empty())
    notes.push_back({std::nullopt, fmt::format("the pair is {} of {} beside {} of {}", letter(order.plan.passes[0]),
                                               order.first, letter(order.plan.passes[1]), order.second)});
  throw InputError(position_of(scenario.overlap.source, read_file(scenario.overlap.source), place),
                   wrong->problem.message, notes);
}

Scenario with_preset(const ExperimentFlags& flags, Scenario scenario) {
  if (flags.preset.empty()) return scenario;
  const Preset& preset = preset_named("--preset", flags.preset);
  if (const auto problem = preset_problem(preset, scenario))
    throw InputError("--preset", fmt::format("{} cannot run {}: {}", flags.preset, scenario.name, *problem));
  return apply_preset(preset, scenario, std::max(1U, std::thread::hardware_concurrency()));
}

} // namespace

void add_order_flags(CLI::App& command, ExperimentFlags& flags) {
  command.add_option("--schedule", flags.schedule,
                     "another schedule (tessella list schedules), or a torch.distributed.pipelining CSV");
  command.add_option("--overlap", flags.overlap,
                     "who orders the pairs: fifo, align, align_defer, megatron, exact, or a file of orders");
}

LoadOptions experiment_rules() {
  LoadOptions options;
  for (const ScheduleInfo& row : schedule_table()) {
    options.schedules.emplace_back(row.name);
    for (const std::string_view alias : row.aliases) options.schedules.emplace_back(alias);
  }
  for (const FillPolicy& policy : fill_policy_table()) options.fill_policies.emplace_back(policy.name);
  for (const OverlapMethod method : kOverlapMethods) options.overlap_schedulers.emplace_back(name(method));
  options.import_schedule = import_schedule;
  options.more_rules = schedule_rules;
  return options;
}

Scenario load_experiment(const ExperimentFlags& flags) {
  LoadOptions options = experiment_rules();
  options.overrides = flags.overrides;
  if (flags.schedule.ends_with(".csv"))
    options.schedule_file = flags.schedule;
  else if (!flags.schedule.empty())
    options.overrides.push_back("schedule.name=" + flags.schedule);
  if (!flags.policy.empty()) options.overrides.push_back("bubble_filler.policy=" + flags.policy);
  options.seed = flags.seed;
  options.steps = flags.steps;
  Scenario scenario = load_scenario(flags.file, options);
  if (!flags.plan.empty()) adopt_plan_file(flags, scenario);
  scenario = with_preset(flags, std::move(scenario));
  adopt_overlap(flags.overlap, scenario);
  check_overlap(flags, scenario);
  return scenario;
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
