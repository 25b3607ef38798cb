// tessella schedule and tessella import schedule: the order of a schedule, checked, drawn, and as a torch CSV.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/experiment.h"
#include "sim/config/file_role.h"
#include "sim/config/source.h"
#include "sim/planner/simulate.h"
#include "sim/report/format.h"
#include "sim/schedule/replay.h"
#include "sim/schedule/table.h"
#include "sim/schedule/text.h"
#include "sim/schedule/timeline.h"
#include "sim/schedule/torch_csv.h"

namespace tessella {
namespace {

struct ScheduleFlags {
  std::string source;
  std::vector<std::string> overrides;
  std::int32_t pp = 4;
  std::int32_t vpp = 1;
  std::int32_t micro_batches = 8;
  std::int64_t group_size = 0; // 0: not given
  std::string csv;
  bool comms = false;
  bool order = false;
};

// An order with the grid it was read from, if it was.
struct Order {
  Schedule schedule;
  std::optional<TorchGrid> grid;
};

Order order_of_file(const std::string& file) {
  const std::string text = read_file(file);
  const std::string shown = display_path(file);
  require_role(shown, text, FileRole::torch_csv);
  Schedule schedule = import_torch_csv(text, shown, std::filesystem::path(file).filename().string()).schedule;
  return {std::move(schedule), parse_torch_csv(text, shown)};
}

Schedule generated(const ScheduleFlags& flags) {
  ScheduleSpec spec;
  spec.name = flags.source;
  if (flags.group_size > 0) spec.microbatch_group_size = flags.group_size;
  const auto illegal = check_schedule_spec(spec, flags.pp, flags.vpp, flags.micro_batches);
  if (illegal)
    throw InputError("schedule", illegal->rule + (illegal->nearest ? fmt::format("; nearest legal {}: {}",
                                                                                 illegal->parameter, *illegal->nearest)
                                                                   : ""));
  return make_schedule(spec, flags.pp, flags.vpp, flags.micro_batches);
}

Order find_order(const ScheduleFlags& flags) {
  if (flags.source.ends_with(".csv")) return order_of_file(flags.source);
  if (!flags.source.ends_with(".yaml") && !flags.source.ends_with(".yml")) return {generated(flags), std::nullopt};
  ExperimentFlags experiment;
  experiment.file = flags.source;
  experiment.overrides = flags.overrides;
  return {schedule_of(load_experiment(experiment)), std::nullopt};
}

std::string ingredients(const Schedule& schedule) {
  bool split = false;
  bool paired = false;
  for (const auto& slots : schedule.ranks)
    for (const Slot& slot : slots) {
      split |= slot.first.kind == ActionKind::I;
      paired |= slot.second.has_value();
    }
  return fmt::format("{}, {}", split ? "weight gradients apart (I, W)" : "whole backwards (B)",
                     paired ? "forwards paired with backwards" : "no pairs");
}

// Durations that make the published formulas whole numbers.
constexpr StageTimes kUnits{1, 2, 1, 1};

void print_summary(const Order& order) {
  const Schedule& s = order.schedule;
  fmt::print("{}: {} ranks, {} stages, {} micro-batches{}; {}\n", printable(s.name), s.num_ranks, s.num_stages,
             s.num_micro_batches,
             s.num_shadow_micro_batches > 0 ? fmt::format(" ({} of them shadows)", s.num_shadow_micro_batches) : "",
             ingredients(s));
  fmt::print("sound: every action once, in the order of its inputs, no deadlock\n");
  const Replay replayed = replay(s, {{kUnits}, {}, 0, 0});
  fmt::print("activations held at most, in (stage, micro-batch), per rank:");
  for (const RankReplay& rank : replayed.ranks) fmt::print(" {}", rank.peak_freed_at_w);
  fmt::print("\n");
  fmt::print("with F 1, B 2, I 1, W 1 per stage and no communication:\n{}",
             timeline(s, replayed, std::max(20, terminal_width() - 8)));
}

int show(const ScheduleFlags& flags, const Order& order) {
  if (order.grid)
    for (const std::string& note : order.grid->notes) fmt::print(stderr, "note: {}\n", note);
  if (!flags.csv.empty()) {
    const std::string csv = to_csv(flags.comms  ? lower_to_comms(order.schedule)
                                   : order.grid ? *order.grid
                                                : to_torch_grid(order.schedule));
    if (flags.csv == "-") { // nothing else on standard output
      fmt::print("{}", csv);
      return kExitOk;
    }
    write_file(flags.csv, csv);
  }
  if (flags.order)
    fmt::print("{}", to_grid(order.schedule));
  else
    print_summary(order);
  return kExitOk;
}

void add_output_flags(CLI::App& command, ScheduleFlags& flags) {
  command.add_option("--csv", flags.csv, "write a torch.distributed.pipelining CSV; - for standard output")
      ->type_name("FILE");
  command.add_flag("--comms", flags.comms, "with sends, receives and gradient reductions, lowered as torch does");
  command.add_flag("--order", flags.order, "print the order of each rank instead of the picture");
}

} // namespace

void add_schedule(CLI::App& app, int& code) {
  auto flags = std::make_shared<ScheduleFlags>();
  CLI::App* command = app.add_subcommand("schedule", "A schedule's order: checked, drawn, exported as a torch CSV");
  command->add_option("schedule", flags->source, "a name (tessella list schedules), a torch CSV, or an experiment.yaml")
      ->required()
      ->type_name("NAME|FILE");
  command->add_option("--pp", flags->pp, "pipeline ranks")->check(CLI::Range(1, 4096))->capture_default_str();
  command->add_option("--vpp", flags->vpp, "stages per rank")->check(CLI::Range(1, 4096))->capture_default_str();
  command->add_option("-m,--micro-batches", flags->micro_batches, "micro-batches of a step")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--group", flags->group_size, "microbatch_group_size_per_vp_stage (default: --pp)")
      ->check(CLI::PositiveNumber);
  command->add_option("--set", flags->overrides, "override a value of the experiment (repeatable)")
      ->type_name("a.b=v")
      ->allow_extra_args(false);
  add_output_flags(*command, *flags);
  command->footer("Examples:\n  tessella schedule dualpipe_v --pp 4 --vpp 2 -m 10\n"
                  "  tessella schedule zb_v --pp 4 --vpp 2 --csv zbv.csv --comms\n"
                  "  tessella schedule torchtitan.csv              # also: tessella run EXP.yaml --schedule FILE.csv");
  command->callback([flags, &code] { code = guarded([&] { return show(*flags, find_order(*flags)); }); });
}

void add_import_schedule(CLI::App& import, int& code) {
  auto flags = std::make_shared<ScheduleFlags>();
  CLI::App* command =
      import.add_subcommand("schedule", "torch.distributed.pipelining CSV -> checked order (run --schedule runs it)");
  command->add_option("csv", flags->source, "the CSV, compute only or with communication")
      ->required()
      ->type_name("FILE.csv");
  add_output_flags(*command, *flags);
  command->footer("Example:\n  tessella import schedule zbv_4rank_8mb.csv --csv today.csv    # today's letters");
  command->callback([flags, &code] { code = guarded([&] { return show(*flags, order_of_file(flags->source)); }); });
}

} // namespace tessella
