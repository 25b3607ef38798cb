// tessella experts: where the experts of each layer should live, given how many tokens they receive.
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
#include "sim/config/source.h"
#include "sim/planner/search/placement_study.h"
#include "sim/report/placement_text.h"

namespace tessella {
namespace {

struct ExpertsFlags {
  ExperimentFlags experiment;
  std::optional<std::int32_t> gpus;
  std::optional<std::int32_t> replicas;
  std::int32_t groups = 1;
  std::optional<std::int32_t> nodes;
  std::int32_t swaps = 64;
  std::int64_t remaining = 1000;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::string json;
};

bool is_trace(const std::string& file) {
  return file.ends_with(".csv");
}

const MoeFfn& first_moe(const Model& model) {
  for (const LayerKind& kind : model.kinds)
    if (const MoeFfn* moe = moe_of(kind)) return *moe;
  throw InputError("experts", "model " + model.name + " has no experts");
}

// Bytes that a GPU receives, over the bandwidth it has inside a node (Piper's worst case) or, across nodes, its NICs.
Duration migration_cost(const Scenario& s, const std::vector<PlacementRow>& rows) {
  const NodeSpec& node = s.cluster.node;
  const bool inside = s.parallelism.ep * s.parallelism.etp <= node.gpus;
  const Bandwidth link = inside
                             ? node.scale_up.bandwidth
                             : node.nic.bandwidth * (static_cast<double>(node.nics) / static_cast<double>(node.gpus));
  const Bytes expert = expert_state(s.model.hidden_size, first_moe(s.model).moe_ffn_hidden_size);
  Duration cost;
  for (const PlacementRow& r : rows) cost += migration_test(r.moved->moved_per_gpu, expert, link, {}, 1).cost;
  return {cost.ps / s.parallelism.pp}; // stages move theirs at the same time
}

EplbShape shape_of(const ExpertsFlags& flags, std::int32_t experts, std::int32_t gpus, std::int32_t nodes) {
  EplbShape shape;
  shape.num_gpus = flags.gpus.value_or(gpus);
  shape.num_replicas = flags.replicas.value_or(experts);
  shape.num_groups = flags.groups;
  shape.num_nodes = flags.nodes.value_or(std::min(nodes, shape.num_gpus));
  if (const auto problem = check_eplb(shape, experts)) throw InputError("experts", *problem);
  return shape;
}

int print(const ExpertsFlags& flags, const PlacementReport& report, const std::vector<PlacementRow>& rows) {
  if (!flags.json.empty() && flags.json != "-") write_file(flags.json, placement_json(report, rows));
  fmt::print("{}", flags.json == "-" ? placement_json(report, rows) : placement_text(report, rows));
  return kExitOk;
}

PlacementReport report_of(const std::string& name, const LoadTable& loads, const EplbShape& shape) {
  return {name,
          static_cast<std::int32_t>(loads.front().size()),
          shape.num_gpus,
          shape.num_replicas,
          is_global_policy(shape),
          {}};
}

int experts_of_trace(const ExpertsFlags& flags) {
  if (!flags.gpus) throw InputError("--gpus", "a trace does not say on how many GPUs its experts are; give --gpus");
  const std::string& file = flags.experiment.file;
  const LoadTable loads = load_table(load_trace_text(file, read_file(file)));
  const EplbShape shape = shape_of(flags, static_cast<std::int32_t>(loads.front().size()), *flags.gpus, 1);
  return print(flags, report_of(file, loads, shape), study_placements(loads, shape, flags.swaps));
}

int experts_of_experiment(const ExpertsFlags& flags) {
  const Scenario s = load_experiment(flags.experiment);
  for (const std::string& w : s.warnings) fmt::print(stderr, "warning: {}\n", w);
  const auto experts = static_cast<std::int32_t>(first_moe(s.model).num_experts);
  const auto ep = static_cast<std::int32_t>(s.parallelism.ep);
  const auto nodes = static_cast<std::int32_t>(std::max<std::int64_t>(1, ep * s.parallelism.etp / s.cluster.node.gpus));
  const LoadTable loads = load_table(s);
  const EplbShape shape = shape_of(flags, experts, ep, nodes);
  const std::vector<PlacementRow> rows = study_placements(loads, shape, flags.swaps);
  PlacementReport report = report_of(s.name, loads, shape);
  if (shape.num_gpus == ep) {
    std::vector<ExpertPlacement> migrated;
    for (const PlacementRow& r : rows) migrated.push_back({ep, r.moved->expert_at});
    const PlacementGain gain = simulate_placements(s, loads, migrated, flags.threads);
    report.verdict = {gain.contiguous, gain.placed, migration_cost(s, rows), flags.remaining};
  }
  return print(flags, report, rows);
}

} // namespace

void add_experts(CLI::App& app, int& code) {
  auto flags = std::make_shared<ExpertsFlags>();
  CLI::App* command = app.add_subcommand(
      "experts", "Where experts should live: contiguous, EPLB, migration, with lower bounds and what moving costs");
  add_experiment_flags(*command, flags->experiment);
  command->add_option("--gpus", flags->gpus, "GPUs of an EP group; default: the experiment's EP")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--replicas", flags->replicas, "expert slots of the group for EPLB; default: one per expert")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--groups", flags->groups, "groups of consecutive experts that EPLB keeps on a node")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--nodes", flags->nodes, "nodes of the group; default: what the cluster says")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--swaps", flags->swaps, "most swaps of a migration, per layer")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command->add_option("--remaining-steps", flags->remaining, "steps that a migration has to pay off in")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "threads; results do not depend on it")
      ->check(CLI::Range(1U, 1024U));
  command->add_option("--json", flags->json, "placements as JSON; - for standard output")->type_name("FILE");
  command->footer(
      "EXP may also be a trace, CSV with the header iter,layer,rank,tokens and one column `rank` per expert.\n"
      "Examples:\n  tessella experts loads.csv --gpus 8 --replicas 16 --groups 4 --nodes 2\n"
      "  tessella experts experiments/02_qwen3_next_12288/experiment.yaml");
  command->callback([flags, &code] {
    code = guarded(
        [&] { return is_trace(flags->experiment.file) ? experts_of_trace(*flags) : experts_of_experiment(*flags); });
  });
}

} // namespace tessella
