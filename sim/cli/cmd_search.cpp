// tessella search: every legal configuration of an experiment's GPUs, ranked by simulation.
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
#include "sim/cli/progress.h"
#include "sim/planner/search/search.h"
#include "sim/report/search_text.h"

namespace tessella {
namespace {

struct SearchFlags {
  ExperimentFlags experiment;
  SearchOptions options;
  std::string json;
};

int search(const SearchFlags& flags) {
  const Progress clock("searching");
  auto progress = std::make_shared<Progress>("simulated configurations");
  const Scenario scenario = load_experiment(flags.experiment);
  if (scenario.imported)
    throw InputError("schedule.file",
                     "an order from a file fits one grid; search generates the orders of all it tries");
  SearchOptions options = flags.options;
  options.stop = &interrupt_flag();
  options.progress = [progress](std::int64_t done, std::int64_t total) { progress->update(done, total); };
  const SearchResult result = search_configurations(scenario, options);
  if (!flags.json.empty() && flags.json != "-") write_file(flags.json, search_json(result));
  fmt::print("{}", flags.json == "-" ? search_json(result) : search_text(result));
  fmt::print(stderr, "searched {} legal configurations in {:.1f} s\n", result.counts.legal, clock.seconds());
  return interrupt_flag() ? kExitInterrupted : kExitOk;
}

} // namespace

void add_search(CLI::App& app, int& code) {
  auto flags = std::make_shared<SearchFlags>();
  flags->options.threads = std::max(1U, std::thread::hardware_concurrency());
  CLI::App* command =
      app.add_subcommand("search", "Rank all legal (tp, cp, pp, vpp, ep, etp, mbs, recompute, schedule)");
  add_experiment_flags(*command, flags->experiment);
  command->add_option("--top", flags->options.top, "how many plans to show; ties are shown in full")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--max-vpp", flags->options.max_vpp, "most chunks per pipeline rank")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--max-mbs", flags->options.max_micro_batch_size, "largest micro-batch size")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--explain", flags->options.explain,
                    "what more bandwidth, memory, micro-batches or another cut would buy the fastest plan");
  command->add_option("--json", flags->json, "the ranking as JSON; - for standard output")->type_name("FILE");
  command->add_option("--threads", flags->options.threads, "threads; results do not depend on it")
      ->check(CLI::Range(1U, 1024U));
  command->footer("Example:\n  tessella search experiments/01_qwen3_235b_h100_256/experiment.yaml --top 10\n"
                  "  tessella search experiments/02_qwen3_next_12288/experiment.yaml --max-mbs 1 --explain\n"
                  "World size, global batch, sequence, precision, dispatcher and routing are the experiment's.\n"
                  "Exit code 3: nothing fits into memory.");
  command->callback([flags, &code] { code = guarded([&] { return search(*flags); }); });
}

} // namespace tessella
