// tessella pair and tessella pairs: how two chunks share a GPU, for one pair in full, and for all pairs in numbers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/experiment.h"
#include "sim/cli/pair.h"
#include "sim/config/order_yaml.h"
#include "sim/config/source.h"
#include "sim/cost/layer_ops.h"
#include "sim/exec/pair_order.h"
#include "sim/planner/overlap/overlap_study.h"
#include "sim/planner/overlap/pair_candidates.h"
#include "sim/planner/simulate.h"
#include "sim/report/format.h"
#include "sim/report/pair_text.h"

namespace tessella {
namespace {

struct PairSide {
  ActionKind pass = ActionKind::F;
  std::int32_t stage = 0;
};

// "F:3".
std::optional<PairSide> parse_side(std::string_view text) {
  if (text.size() < 3 || text[1] != ':' || (text[0] != 'F' && text[0] != 'B')) return std::nullopt;
  PairSide side{text[0] == 'F' ? ActionKind::F : ActionKind::B, 0};
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), side.stage);
  if (error != std::errc() || end != text.data() + text.size() || side.stage < 0) return std::nullopt;
  return side;
}

PairSide side_of(const Action& action) {
  if (action.kind != ActionKind::F && action.kind != ActionKind::B)
    throw InputError("--pair", fmt::format("{} is neither a forward nor a full backward", to_text(action)));
  return {action.kind, action.stage.value};
}

// "F:3,B:7", or as a schedule writes it: "(3F1;7B0)".
std::array<PairSide, 2> parse_pair(const std::string& text, std::size_t stages) {
  std::array<PairSide, 2> sides;
  const std::size_t comma = text.find(',');
  const auto first = parse_side(text.substr(0, comma));
  const auto second = comma == std::string::npos ? std::nullopt : parse_side(text.substr(comma + 1));
  const auto slot = parse_slot(text);
  if (slot && slot->second) {
    if (slot->first.micro_batch == slot->second->micro_batch)
      throw InputError("--pair", fmt::format("{} pairs two actions of one micro-batch, which depend on each other; "
                                             "take two different ones",
                                             text));
    sides = {side_of(slot->first), side_of(*slot->second)};
  } else if (first && second) {
    sides = {*first, *second};
  } else {
    throw InputError("--pair", fmt::format("'{}' is not a pair; write F:3,B:7 (pass and stage) or (3F1;7B0)", text));
  }
  for (const PairSide& side : sides)
    if (static_cast<std::size_t>(side.stage) >= stages)
      throw InputError("--pair", fmt::format("stage {} does not exist; stages are 0 to {}", side.stage, stages - 1));
  return sides;
}

OverlapMethod parse_method(const std::string& text, const PairPasses& passes) {
  const auto method = parse_overlap_method(text);
  if (!method) {
    std::string names;
    for (const OverlapMethod m : kOverlapMethods) names += fmt::format("{}{}", names.empty() ? "" : ", ", name(m));
    throw InputError("--method", fmt::format("unknown method '{}'; one of {}", text, names));
  }
  if (!applies(*method, passes)) throw InputError("--method", "Megatron pairs a forward with a backward only");
  return *method;
}

// The order of a file, which must fit this pair.
PairPlan read_order(const std::string& file, const PairTasks& tasks, const PairOrder& pair) {
  const auto wrong = [&](const TaskPlace& place, const std::string& message) {
    return InputError(position_of(display_path(file), read_file(file), place), message);
  };
  const std::vector<PairOrder> orders = load_pair_orders(file);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const PairOrder& order = orders[i];
    const bool other =
        (!order.first.empty() && order.first != pair.first) || (!order.second.empty() && order.second != pair.second);
    if (other && orders.size() > 1) continue;
    if (other)
      throw wrong({i, {}, 0}, fmt::format("the order is for {} beside {}, the pair is {} beside {}", order.first,
                                          order.second, pair.first, pair.second));
    if (order.plan.passes != tasks.passes)
      throw wrong({i, "passes", std::string::npos},
                  fmt::format("the order is of a pair {};{}, not {};{}", letter(order.plan.passes[0]),
                              letter(order.plan.passes[1]), letter(tasks.passes[0]), letter(tasks.passes[1])));
    if (const auto problem = order_problem(tasks.tasks, order.plan))
      throw wrong({i, problem->lane == OpLane::ep ? "ep" : "compute", problem->task.value_or(std::string::npos)},
                  problem->message);
    return order.plan;
  }
  throw InputError(SourceSpan{file, 0, 0, 0, {}}, fmt::format("no order for {} beside {}", pair.first, pair.second));
}

// All methods in one table; returns what the exact search proved.
Duration print_methods(const PairProblem& problem, const SearchLimits& limits) {
  Duration lower_bound;
  fmt::print("{:<12} {:>12} {:>8} {:>8}\n", "method", "post-overlap", "saves", "hidden");
  for (const OverlapMethod m : kOverlapMethods) {
    if (!applies(m, problem.passes)) continue;
    const PairResult r = schedule_pair(problem, m, limits);
    lower_bound = max(lower_bound, r.lower_bound);
    fmt::print("{:<12} {:>12} {:>8} {:>8}{}\n", name(m), format_duration(r.post_overlap),
               format_percent(r.overlap_gain()), format_percent(r.hidden_share()),
               m == OverlapMethod::exact ? (r.proven ? "  proven" : "  not proven") : "");
  }
  fmt::print("\n");
  return lower_bound;
}

void show(const PairFlags& flags, OverlapMethod method, const PairProblem& problem, PairResult result,
          const SearchLimits& limits) {
  result.lower_bound = print_methods(problem, limits);
  result.proven = result.lower_bound == result.post_overlap;
  const std::string by = flags.order.empty() ? name(method) : printable(flags.order);
  fmt::print("{}", pair_text(result, by, {terminal_width(), flags.tasks}));
}

} // namespace

int show_pair(const PairFlags& flags) {
  const Scenario scenario = load_experiment(flags.experiment);
  const auto sides = parse_pair(flags.pair, scenario.partition.stages.size());
  const PairPasses passes{sides[0].pass, sides[1].pass};
  const OverlapMethod method = parse_method(flags.method.empty() ? scenario.overlap.scheduler : flags.method, passes);
  const ChunkLibrary chunks(scenario, make_model_ops(scenario));
  const auto spec = [&](const PairSide& side) {
    return chunk_spec(scenario.model, scenario.partition.stages[static_cast<std::size_t>(side.stage)]);
  };
  const PairTasks tasks = chunks.tasks(spec(sides[0]), spec(sides[1]), passes);
  const PairProblem problem = pair_problem(tasks);
  const SearchLimits limits{flags.nodes, std::nullopt};
  PairOrder order{to_text(spec(sides[0]), scenario.model), to_text(spec(sides[1]), scenario.model), {}, {}};
  const PairResult result = flags.order.empty() ? schedule_pair(problem, method, limits)
                                                : cost_of_order(problem, read_order(flags.order, tasks, order));
  order.plan = result.plan;
  order.post_overlap = result.post_overlap;
  if (flags.save_order == "-") { // nothing else on standard output
    fmt::print("{}", to_yaml(order));
    return kExitOk;
  }
  for (const PairSide& side : sides)
    fmt::print("{} of stage {}: {}\n", letter(side.pass), side.stage, to_text(spec(side), scenario.model));
  show(flags, method, problem, result, limits);
  if (!flags.save_order.empty()) write_file(flags.save_order, to_yaml(order));
  return kExitOk;
}

namespace {

struct PairsFlags {
  ExperimentFlags experiment;
  std::int32_t radius = 2;
  std::int64_t nodes = SearchLimits{}.nodes;
  std::string csv;
};

// How many gaps fall into each class, as bars.
void print_distribution(const MethodGaps& m) {
  constexpr std::array<double, 7> edges = {1e-9, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05};
  constexpr std::array<const char*, 8> labels = {"optimal", "to 0.1 %", "to 0.25 %", "to 0.5 %",
                                                 "to 1 %",  "to 2 %",   "to 5 %",    "above"};
  std::array<std::size_t, 8> counts{};
  for (const double gap : m.gaps)
    ++counts[static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), gap) - edges.begin())];
  for (std::size_t c = 0; c < counts.size(); ++c)
    fmt::print("  {:<10} {:>5}  {}\n", labels[c], counts[c], std::string(counts[c] * 50 / m.gaps.size(), '#'));
}

int pairs(const PairsFlags& flags) {
  const Scenario scenario = load_experiment(flags.experiment);
  const ChunkLibrary chunks(scenario, make_model_ops(scenario));
  const auto candidates = candidate_pairs(scenario.model, scenario.partition, schedule_of(scenario), flags.radius);
  if (candidates.empty())
    throw InputError("experiment", fmt::format("schedule {} co-schedules no pairs; set "
                                               "schedule.overlap_moe_expert_parallel_comm",
                                               scenario.schedule.name));
  const OverlapStudy study = study_overlap(chunks, candidates, {flags.nodes, std::nullopt});
  fmt::print("{} distinct pairs (boundaries move by up to {} layers), {}\n", candidates.size(), flags.radius,
             chunks.topology_class());
  fmt::print("exact: {} proven ({}), {:.2f} s of CPU time in all, slowest {:.1f} ms\n", study.proven,
             format_percent(static_cast<double>(study.proven) / static_cast<double>(candidates.size())),
             study.exact_cpu_seconds, 1e3 * study.slowest_cpu_seconds);
  const auto [least, most] = std::minmax_element(study.gains.begin(), study.gains.end());
  fmt::print("overlap gain of the exact order: {} to {}\n", format_percent(*least), format_percent(*most));
  fmt::print("\n{:<12} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "gap", "mean", "median", "p95", "max", "CPU s");
  for (const MethodGaps& m : study.methods)
    fmt::print("{:<12} {:>8.3f}% {:>8.3f}% {:>8.3f}% {:>8.3f}% {:>9.3f}\n", name(m.method), 100 * m.mean(),
               100 * m.quantile(0.5), 100 * m.quantile(0.95), 100 * m.quantile(1.0), m.cpu_seconds);
  for (const MethodGaps& m : study.methods) {
    fmt::print("\n{}\n", name(m.method));
    print_distribution(m);
  }
  if (flags.csv.empty()) return kExitOk;
  PairCostTable table(chunks, OverlapMethod::align_defer);
  table.fill(candidates, 1);
  table.save(flags.csv);
  return kExitOk;
}

} // namespace

void add_pair(CLI::App& app, int& code) {
  auto flags = std::make_shared<PairFlags>();
  flags->method = "align_defer";
  CLI::App* command =
      app.add_subcommand("pair", "How two chunks share a GPU: order, timeline, cost, distance to the best");
  add_experiment_flags(*command, flags->experiment);
  command->add_option("--pair", flags->pair, "pass and stage of both, as F:3,B:7")->required()->type_name("PAIR");
  command->add_option("--method", flags->method, "fifo, align, align_defer, megatron or exact")->capture_default_str();
  command->add_option("--order", flags->order, "an order of your own instead")->type_name("FILE");
  command->add_option("--save-order", flags->save_order, "write the order; - for standard output")->type_name("FILE");
  command->add_option("--nodes", flags->nodes, "limit of the exact search")->check(CLI::PositiveNumber);
  command->add_flag("--tasks", flags->tasks, "list start and end of every task");
  command->footer("Examples:\n  tessella pair experiments/13_fig13_overlap_heuristics/experiment.yaml --pair F:1,B:2 "
                  "--method exact\n"
                  "  tessella pair EXP.yaml --pair F:3,B:7 --save-order mine.yaml   # edit it, then\n"
                  "  tessella run EXP.yaml --overlap mine.yaml\n"
                  "`tessella plan --pair` shows the same by the experiment's own overlap scheduler.");
  command->callback([flags, &code] { code = guarded([&] { return show_pair(*flags); }); });
}

void add_pairs(CLI::App& app, int& code) {
  auto flags = std::make_shared<PairsFlags>();
  CLI::App* command =
      app.add_subcommand("pairs", "How far overlap heuristics are from the best, over all candidate pairs");
  add_experiment_flags(*command, flags->experiment);
  command->add_option("--radius", flags->radius, "layers by which a stage boundary may move")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  command->add_option("--nodes", flags->nodes, "limit of each exact search")->check(CLI::PositiveNumber);
  command->add_option("--csv", flags->csv, "write the costs by align_defer")->type_name("FILE");
  command->footer("Example:\n  tessella pairs experiments/13_fig13_overlap_heuristics/experiment.yaml --csv pairs.csv");
  command->callback([flags, &code] { code = guarded([&] { return pairs(*flags); }); });
}

} // namespace tessella
