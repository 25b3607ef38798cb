// tessella export: what a run sends and computes, for tools that replay it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/experiment.h"
#include "sim/cli/progress.h"
#include "sim/exec/lower.h"
#include "sim/planner/rank_trace.h"
#include "sim/planner/simulate.h"
#include "sim/report/chakra.h"

namespace tessella {
namespace {

struct ExportFlags {
  ExperimentFlags experiment;
  std::vector<std::int32_t> ranks = {0};
  std::string prefix;
};

// The columns of all ranks.
TraceRequest request_of(const Scenario& scenario, const std::vector<std::int32_t>& ranks) {
  std::set<std::int32_t> traced;
  for (const std::int32_t rank : ranks) {
    const auto world = static_cast<std::int32_t>(scenario.parallelism.world_size);
    if (rank < 0 || rank >= world)
      throw InputError("--ranks", fmt::format("rank {} does not exist; ranks are 0 to {}", rank, world - 1));
    const TraceRequest column = trace_of_column(scenario, rank);
    traced.insert(column.ranks.begin(), column.ranks.end());
  }
  return {{traced.begin(), traced.end()}, {0}};
}

int export_chakra(const ExportFlags& flags) {
  auto progress = std::make_shared<Progress>("written ranks");
  const Scenario scenario = load_experiment(flags.experiment);
  if (is_uniform(scenario.profile))
    throw InputError(flags.experiment.file, "its profile has two times per stage and no ops, so there is no trace");
  RunOptions options;
  options.trace = request_of(scenario, flags.ranks);
  options.stop = &interrupt_flag();
  options.enough = [](const std::vector<StepRecord>&) { return true; }; // the first step is
  const RunResult result = simulate(scenario, options);
  if (result.partial) return kExitInterrupted;
  const std::set<std::int32_t> ranks(flags.ranks.begin(), flags.ranks.end());
  std::int64_t done = 0;
  for (const std::int32_t rank : ranks) {
    const RankTrace trace = rank_trace(scenario, result, rank);
    const std::string file = fmt::format("{}.{}.et", flags.prefix, rank);
    write_file(file, chakra_et(trace, "tessella " TESSELLA_VERSION));
    progress->update(++done, static_cast<std::int64_t>(ranks.size()));
    fmt::print("{}: {} nodes\n", file, trace.nodes.size());
  }
  return kExitOk;
}

} // namespace

void add_export(CLI::App& app, int& code) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command = app.add_subcommand("export", "A simulated step for tools that replay communication");
  command->require_subcommand(1);
  command->footer("Example:\n  tessella export chakra EXP.yaml --ranks 0,32 -o workload");
  CLI::App* chakra = command->add_subcommand("chakra", "Chakra execution traces (.et), one file per rank");
  add_experiment_flags(*chakra, flags->experiment);
  add_order_flags(*chakra, flags->experiment);
  chakra->add_option("--plan", flags->experiment.plan, "a plan of `tessella plan -o`: its partition and pair orders")
      ->type_name("PLAN.yaml");
  chakra->add_option("--ranks", flags->ranks, "ranks to write (default: 0)")->delimiter(',');
  chakra->add_option("-o,--out", flags->prefix, "writes PREFIX.RANK.et")->required()->type_name("PREFIX");
  chakra->footer("Example:\n  tessella export chakra experiments/01_qwen3_235b_h100_256/experiment.yaml --ranks 0,32 "
                 "-o workload\n  tessella import chakra workload.32.et\n"
                 "Times are simulated, sizes at balanced load: sim/planner/rank_trace.h.");
  chakra->callback([flags, &code] { code = guarded([&] { return export_chakra(*flags); }); });
}

} // namespace tessella
