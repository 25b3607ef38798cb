// tessella sweep and tessella merge: many scenarios into one results database.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/experiment.h"
#include "sim/cli/gnuplot.h"
#include "sim/cli/sweep_run.h"
#include "sim/config/load_sweep.h"
#include "sim/store/sweep_views.h"

namespace tessella {
namespace {

constexpr std::size_t kShownBest = 5;

struct SweepFlags {
  std::string file;
  std::string db;
  std::string shard;
  std::optional<std::int64_t> shards;
  std::vector<std::string> overrides;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::string where;
  std::string csv;
  std::string plot;
};

// Next to where one works, not next to the sweep file: SWEEP.db, or SWEEP.2-of-8.db for a shard.
std::string database_name(const SweepFlags& flags, const Shard& shard) {
  if (!flags.db.empty()) return flags.db;
  const std::string stem = std::filesystem::path(flags.file).stem().string();
  return shard.count == 1 ? stem + ".db" : fmt::format("{}.{}-of-{}.db", stem, shard.index, shard.count);
}

std::optional<Expression> parse_where(const std::string& text) {
  if (text.empty()) return std::nullopt;
  try {
    return Expression::parse(text);
  } catch (const ExpressionError& error) {
    throw InputError("--where", fmt::format("{} (at character {} of '{}')", error.what(), error.column(), text));
  }
}

// A name that no row knows would silently select nothing.
void check_names(const Expression& where, const std::vector<ResultRow>& rows) {
  if (rows.empty()) return;
  for (const std::string& name : where.names()) {
    const bool column = std::find(kResultNumbers.begin(), kResultNumbers.end(), name) != kResultNumbers.end();
    if (!column && std::none_of(rows.begin(), rows.end(), [&](const ResultRow& row) {
          return !std::holds_alternative<std::monostate>(lookup(row, name));
        }))
      throw InputError("--where", fmt::format("'{}' is neither a column of the results nor a swept path", name));
  }
}

std::vector<ResultRow> selected(const ResultsDb& db, const std::vector<std::string>& keys, const std::string& where) {
  const std::optional<Expression> condition = parse_where(where);
  const std::unordered_set<std::string> mine(keys.begin(), keys.end()); // membership only
  std::vector<ResultRow> rows = db.rows();
  std::erase_if(rows, [&](const ResultRow& row) { return !mine.contains(row.key); });
  if (!condition) return rows;
  check_names(*condition, rows);
  std::erase_if(rows, [&](const ResultRow& row) {
    return !condition->holds([&](const std::string& name) { return lookup(row, name); });
  });
  return rows;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// The fastest plans that fit, by model TFLOP/s per GPU.
void print_best(std::vector<ResultRow> rows) {
  const auto number = [](const ResultRow& row, const char* name) { return std::get<double>(lookup(row, name)); };
  std::erase_if(rows, [](const ResultRow& row) { return row.status != "ok"; });
  std::stable_sort(rows.begin(), rows.end(), [&](const ResultRow& a, const ResultRow& b) {
    return number(a, "tflops_per_gpu") > number(b, "tflops_per_gpu");
  });
  if (rows.size() > kShownBest) rows.resize(kShownBest);
  if (rows.empty()) return;
  fmt::print("\n{:>12} {:>12} {:>7} {:>9}  best plans that fit\n", "step time", "TFLOPS/GPU", "MFU", "GiB");
  for (const ResultRow& row : rows)
    fmt::print("{:>10.4f} s {:>12.1f} {:>5.1f} % {:>9.2f}  {}\n", number(row, "step_time_s"),
               number(row, "tflops_per_gpu"), 100.0 * number(row, "mfu"),
               number(row, "memory_peak_bytes") / (1024.0 * 1024.0 * 1024.0), one_line(row.overrides));
}

void print_summary(const SweepOutcome& outcome, const std::vector<ResultRow>& rows, const std::string& db) {
  std::map<std::string, std::int64_t> by_status;
  for (const ResultRow& row : rows) ++by_status[row.status];
  fmt::print("{} scenarios in {}: {} new, {} found; selected {}", outcome.keys.size(), db, outcome.computed,
             outcome.found, rows.size());
  for (const auto& [status, count] : by_status) fmt::print(", {} {}", count, status);
  fmt::print("\n");
  print_best(rows);
}

Plot plot_of(const std::vector<ViewPoint>& points) {
  Plot plot;
  for (const ViewPoint& p : points) {
    plot.points.emplace_back(p.x, p.y);
    if (p.best) plot.line.emplace_back(p.x, p.y);
  }
  return plot;
}

// PREFIX.scaling.svg and PREFIX.pareto.svg.
void draw_views(const std::string& sweep, const std::vector<ResultRow>& rows, const std::string& prefix) {
  if (std::none_of(rows.begin(), rows.end(), [](const ResultRow& row) { return row.status == "ok"; })) {
    fmt::print(stderr, "nothing that fits is selected: no plots\n");
    return;
  }
  Plot scaling = plot_of(scaling_view(rows));
  scaling.title = sweep + ": scaling";
  scaling.x_label = "GPUs";
  scaling.y_label = "MFU";
  scaling.all = "plans that fit";
  scaling.best = "best of each size";
  scaling.log_x = true;
  Plot pareto = plot_of(pareto_view(rows));
  pareto.title = sweep + ": time against memory";
  pareto.x_label = "peak memory, GiB";
  pareto.y_label = "GPU-seconds per million tokens";
  pareto.all = "plans that fit";
  pareto.best = "no plan is both faster and leaner";
  for (const auto& [plot, file] : {std::pair(&scaling, prefix + ".scaling.svg"), {&pareto, prefix + ".pareto.svg"}})
    if (!draw(*plot, file)) fmt::print(stderr, "gnuplot is not installed: no {}\n", file);
}

int sweep(const SweepFlags& flags) {
  SweepSpec spec = load_sweep(flags.file);
  parse_where(flags.where); // wrong text is said before the work, not after it
  spec.set.insert(spec.set.end(), flags.overrides.begin(), flags.overrides.end());
  const Shard shard = shard_of(flags.shard, flags.shards);
  const SweepPoints points(spec);
  if (points.size() == 0) throw InputError(flags.file, "no point satisfies the constraints");
  if (points.excluded() > 0) fmt::print(stderr, "{} points left out by constraints\n", points.excluded());
  if (shard.count > 1) fmt::print(stderr, "shard {} of {} (from {})\n", shard.index, shard.count, shard.from);
  const ScenarioCache cache(spec.experiment, experiment_rules());
  ResultsDb db(database_name(flags, shard), DbMode::create);
  const SweepOutcome outcome = run_sweep({spec, points, cache, shard, flags.threads, TESSELLA_VERSION}, db);
  const std::vector<ResultRow> rows = selected(db, outcome.keys, flags.where);
  if (flags.csv == "-")
    fmt::print("{}", to_csv(rows));
  else if (!flags.csv.empty())
    write_file(flags.csv, to_csv(rows));
  if (!flags.plot.empty()) draw_views(spec.name, rows, flags.plot);
  if (flags.csv != "-") print_summary(outcome, rows, db.path());
  if (!outcome.interrupted) return kExitOk;
  fmt::print(stderr, "interrupted; the same command resumes\n");
  return kExitInterrupted;
}

int merge(const std::string& out_name, const std::vector<std::string>& in_names) {
  ResultsDb out(out_name, DbMode::create);
  std::int64_t conflicts = 0;
  for (const std::string& name : in_names) {
    std::error_code error;
    if (std::filesystem::equivalent(name, out_name, error)) throw InputError(name, "is the output itself");
    const ResultsDb in(name, DbMode::read);
    const MergeReport report = merge_into(out, in);
    fmt::print("{}: {} added, {} the same, {} in conflict\n", name, report.added, report.same, report.conflicts.size());
    for (const std::string& conflict : report.conflicts)
      fmt::print(stderr, "conflict: {}: {}\n", name, one_line(conflict));
    conflicts += static_cast<std::int64_t>(report.conflicts.size());
  }
  if (conflicts == 0) return kExitOk;
  fmt::print(stderr, "{} rows differ for equal inputs; {} keeps the ones it had\n", conflicts, out_name);
  return kExitThreshold;
}

} // namespace

void add_sweep(CLI::App& app, int& code) {
  auto flags = std::make_shared<SweepFlags>();
  CLI::App* command = app.add_subcommand("sweep", "Simulate many variants of an experiment into a results database");
  command->add_option("sweep", flags->file, "the sweep file")->required()->type_name("SWEEP.yaml");
  command->add_option("--db", flags->db, "results database (default: SWEEP.db here)")->type_name("FILE");
  command->add_option("--shard", flags->shard, "compute points k, k+n, ... only; k from 0")->type_name("k/n");
  command->add_option("--shards", flags->shards, "how many shards, when the array job says which one this is");
  command->add_option("--set", flags->overrides, "override a value in every point (repeatable)")
      ->type_name("a.b=v")
      ->allow_extra_args(false);
  command->add_option("--threads", flags->threads, "threads; results do not depend on it")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  command->add_option("--where", flags->where, "select rows, e.g. \"status == 'ok' and mfu > 0.3 and pp <= 8\"");
  command->add_option("--csv", flags->csv, "selected rows as CSV; - for standard output")->type_name("FILE");
  command
      ->add_option("--plot", flags->plot,
                   "PREFIX.scaling.svg (MFU over GPUs) and PREFIX.pareto.svg (time over memory) of the selected rows; "
                   "needs gnuplot")
      ->type_name("PREFIX");
  command->footer(
      "The same command resumes after an interrupt or a kill. In a Slurm job array or an indexed Kubernetes\n"
      "job each task takes its own shard; put the databases together with tessella merge.\n"
      "Example:\n  tessella sweep sweep.yaml --db results.db --where \"mfu > 0.3\" --csv -");
  command->callback([flags, &code] { code = guarded([&] { return sweep(*flags); }); });
}

void add_merge(CLI::App& app, int& code) {
  auto out = std::make_shared<std::string>();
  auto in = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("merge", "Put results databases together; repeating it changes nothing");
  command->add_option("out", *out, "database to add to; made when it does not exist")->required()->type_name("OUT.db");
  command->add_option("in", *in, "databases to add")->required()->type_name("IN.db");
  command->footer("Exit code 1: two databases have different answers for the same inputs.\n"
                  "Example:\n  tessella merge plans.db sweep.*-of-32.db");
  command->callback([out, in, &code] { code = guarded([&] { return merge(*out, *in); }); });
}

} // namespace tessella
