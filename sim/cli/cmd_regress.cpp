// tessella regress: run the experiments of a baseline again and say what moved, and which input moved it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/experiment.h"
#include "sim/cli/progress.h"
#include "sim/config/load_baseline.h"
#include "sim/config/read_result.h"
#include "sim/planner/regress/snapshot.h"
#include "sim/report/regression.h"

namespace tessella {
namespace {

struct RegressFlags {
  std::string folder;
  std::vector<std::string> overrides;
  std::string junit;
  std::string markdown;
  std::string json;
  std::string note;
  bool accept = false;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
};

Snapshot run(const BaselineEntry& entry, const RegressFlags& flags) {
  ExperimentFlags experiment;
  experiment.file = entry.experiment;
  experiment.overrides = entry.overrides;
  experiment.overrides.insert(experiment.overrides.end(), flags.overrides.begin(), flags.overrides.end());
  SnapshotOptions options;
  options.plan = entry.plan;
  options.threads = flags.threads;
  options.stop = &interrupt_flag();
  Snapshot s = take_snapshot(load_experiment(experiment), options);
  s.name = entry.name;
  s.tool = TESSELLA_VERSION;
  s.note = flags.note;
  s.settings = experiment_settings(entry.experiment, experiment.overrides);
  for (const std::string& text : experiment.overrides) // those that reach into the files the experiment names
    if (text.starts_with("model.") || text.starts_with("topology.") || text.starts_with("profile."))
      s.settings.emplace_back(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
  return s;
}

Regression refused(const BaselineEntry& entry, const std::string& why) {
  Regression r;
  r.name = entry.name;
  r.refused = why;
  return r;
}

// What is expected, or why there is nothing to compare with.
struct Expected {
  std::optional<Snapshot> snapshot;
  std::string why_not;
};

Expected expected_of(const BaselineEntry& entry, const RegressFlags& flags) {
  constexpr const char* kAnew = "tessella regress --accept --note '...' writes it anew";
  try {
    const auto snapshot = load_expected(flags.folder, entry.name);
    return {snapshot, snapshot ? "" : fmt::format("nothing is expected yet; {}", kAnew)};
  } catch (const InputError& error) {
    const std::string file = expected_file(flags.folder, entry.name).string();
    return {{}, fmt::format("{} is damaged or of another version: {}; {}", file, error.message(), kAnew)};
  }
}

Regression check(const Baseline& baseline, const BaselineEntry& entry, const RegressFlags& flags) {
  const auto [expected, why_not] = expected_of(entry, flags);
  if (!expected) return refused(entry, why_not);
  try {
    return diff(*expected, run(entry, flags), baseline.tolerances);
  } catch (const InputError& error) {
    return refused(entry, "illegal: " + error.message());
  } catch (const InfeasiblePlan& error) {
    return refused(entry, std::string("cannot run: ") + error.what());
  } catch (const NotCovered& error) {
    return refused(entry, std::string("not covered: ") + error.what());
  }
}

int accept(const Baseline& baseline, const RegressFlags& flags) {
  if (flags.note.empty()) throw InputError("--accept", "needs --note TEXT: why the new numbers are right");
  std::filesystem::create_directories(std::filesystem::path(flags.folder) / "expected");
  for (const BaselineEntry& entry : baseline.entries) {
    const Snapshot now = run(entry, flags);
    const std::filesystem::path file = expected_file(flags.folder, entry.name);
    const auto before = expected_of(entry, flags).snapshot;
    write_file(file.string(), to_yaml(now));
    const std::size_t moves = before ? diff(*before, now, baseline.tolerances).moves.size() : 0;
    fmt::print("accepted {}: {}\n", file.string(), before ? fmt::format("{} values moved", moves) : "new");
  }
  return kExitOk;
}

int regress(const RegressFlags& flags) {
  const Baseline baseline = load_baseline(flags.folder);
  if (flags.accept) return accept(baseline, flags);
  if (!flags.note.empty()) throw InputError("--note", "belongs to --accept");
  Progress progress("regress: experiments");
  std::vector<Regression> results;
  for (const BaselineEntry& entry : baseline.entries) {
    results.push_back(check(baseline, entry, flags));
    progress.update(static_cast<std::int64_t>(results.size()), static_cast<std::int64_t>(baseline.entries.size()));
  }
  if (!flags.junit.empty()) write_file(flags.junit, regression_junit(baseline.name, results));
  if (!flags.markdown.empty()) write_file(flags.markdown, regression_markdown(baseline.name, results));
  if (flags.json == "-")
    fmt::print("{}", regression_json(baseline.name, results));
  else if (!flags.json.empty())
    write_file(flags.json, regression_json(baseline.name, results));
  if (flags.json != "-") fmt::print("{}", regression_text(baseline.name, results));
  const bool failed = std::any_of(results.begin(), results.end(), [](const Regression& r) { return r.failed(); });
  return failed ? kExitThreshold : kExitOk;
}

} // namespace

void add_regress(CLI::App& app, int& code) {
  auto flags = std::make_shared<RegressFlags>();
  CLI::App* command =
      app.add_subcommand("regress", "Run a baseline's experiments again: what moved, and what moved it");
  command->add_option("--baseline", flags->folder, "folder with baseline.yaml and expected/")
      ->required()
      ->type_name("DIR");
  command->add_option("--junit", flags->junit, "JUnit XML, for CI servers")->type_name("FILE");
  command->add_option("--markdown", flags->markdown, "summary, e.g. for \"$GITHUB_STEP_SUMMARY\"")->type_name("FILE");
  command->add_option("--json", flags->json, "all moves as JSON; - for standard output")->type_name("FILE");
  command->add_flag("--accept", flags->accept, "write what comes out now as expected");
  command->add_option("--note", flags->note, "why it is accepted; kept in the files")->type_name("TEXT");
  command->add_option("--set", flags->overrides, "override a value in every experiment (repeatable)")
      ->type_name("a.b=v")
      ->allow_extra_args(false);
  command->add_option("--threads", flags->threads, "threads; results do not depend on it")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  command->footer("Exit code 1: something moved beyond its tolerance.\n"
                  "Example:\n  tessella regress --baseline baseline --markdown \"$GITHUB_STEP_SUMMARY\"");
  command->callback([flags, &code] { code = guarded([&] { return regress(*flags); }); });
}

} // namespace tessella
