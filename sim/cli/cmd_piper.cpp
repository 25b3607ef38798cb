// tessella piper: the (PP, EP) search and the formulas of Piper (arXiv 2605.05049), word for word.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "sim/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/exit_code.h"
#include "sim/config/catalog.h"
#include "sim/config/csv.h"
#include "sim/config/load.h"
#include "sim/config/source.h"
#include "sim/planner/search/expert_placement.h"
#include "sim/planner/search/piper.h"
#include "sim/report/format.h"

namespace tessella {
namespace {

constexpr double kRank = 50e9; // all-to-all inside a node, bytes/s of a GPU: the paper's figure for Table IV

struct PiperFlags {
  std::vector<std::string> models;
  std::int64_t nodes = 8;
  std::int64_t seq = 4096;
  std::int64_t micro_batches = 64;
  std::int64_t sequences = 1; // of a GPU and micro-batch
  double rate = 100.0;        // TFLOPS
  double peak = 191.5;
  bool repaired = false;
  bool no_flash = false;
  std::string ladder;
};

struct NamedModel {
  std::string name;
  PiperModel model;
  std::int64_t matrices = 3;
};

NamedModel load(const std::string& name, std::int64_t seq) {
  const SearchPath path = search_path(std::filesystem::current_path());
  const Model m = load_model(
      resolve(Catalog::model, name, std::filesystem::current_path(), path, SourceSpan{"piper", 0, 0, 0, {}}));
  const auto in = piper_inputs(m, seq);
  if (!in) throw InputError("piper", "model " + name + " has no experts");
  return {name, in->model, in->expert_matrices};
}

PiperCluster cluster_of(const PiperFlags& flags, std::int64_t nodes) {
  PiperCluster c; // Frontier
  c.nodes = nodes;
  c.flash_attention = !flags.no_flash;
  c.per_rank_tokens = flags.repaired;
  return c;
}

// The global batch that gives every EP rank `sequences` in each micro-batch.
PiperModel with_batch(PiperModel m, std::int64_t ep, std::int64_t micro_batches, std::int64_t sequences) {
  m.global_batch = ep * micro_batches * sequences;
  return m;
}

std::string search_row(const PiperFlags& flags, const NamedModel& named) {
  const PiperCluster cluster = cluster_of(flags, flags.nodes);
  const PiperModel m = with_widest_batch(named.model, cluster, flags.micro_batches, flags.sequences);
  const PiperSearch found = piper_search(m, cluster, flags.micro_batches);
  std::string text = fmt::format("{:<20}{:>5}", named.name, m.num_experts);
  for (const std::int64_t left : found.left) text += fmt::format("{:>4}", left);
  const PiperPlan* best = nullptr;
  PiperEstimate estimate;
  for (const PiperPlan& p : found.feasible) {
    const PiperEstimate e = piper_estimate(m, cluster, p, flags.rate * 1e12, named.matrices);
    if (best == nullptr || e.flops_per_gpu > estimate.flops_per_gpu) best = &p, estimate = e;
  }
  if (best == nullptr) return text + "   nothing fits\n";
  return text + fmt::format("{:>6}{:>5}{:>12.1f}{:>10}{:>9.1f}{:>7.1f}\n", best->pp, best->ep,
                            piper_memory(m, cluster, *best, 0) / 1e9,
                            format_duration(Duration{static_cast<std::int64_t>(1e12 * estimate.step_s)}),
                            estimate.flops_per_gpu / 1e12, 100.0 * estimate.flops_per_gpu / (flags.peak * 1e12));
}

std::string migration_row(const PiperFlags& flags, const NamedModel& named) {
  const PiperCluster cluster = cluster_of(flags, flags.nodes);
  const std::int64_t per_gpu = named.model.num_experts / std::min(named.model.num_experts, cluster.gpus_per_node);
  const Bytes sent = expert_state(named.model.hidden_size, named.model.ffn_hidden_size) * per_gpu;
  const double latency = static_cast<double>(sent.count) / kRank;
  return fmt::format("{:<20}{:>9.3f}{:>9.3f}{:>10.1f}{:>10.1f}\n", named.name, static_cast<double>(sent.count) / 1e9,
                     static_cast<double>(sent.count) / 1073741824.0, 1e3 * latency,
                     1e3 * static_cast<double>(sent.count) / 1073741824.0 / 50.0);
}

int tables(const PiperFlags& flags) {
  std::vector<NamedModel> models;
  for (const std::string& name : flags.models) models.push_back(load(name, flags.seq));
  fmt::print("(PP, EP) for {} GCDs of {} Frontier nodes, sequence {}, {} micro-batches of {} per GCD, {:g} TFLOPS\n\n"
             "{:<20}{:>5}{:>4}{:>4}{:>4}{:>4}{:>4}{:>6}{:>5}{:>12}{:>10}{:>9}{:>7}\n",
             8 * flags.nodes, flags.nodes, flags.seq, flags.micro_batches, flags.sequences, flags.rate, "model", "E",
             "1", "2", "3", "4", "5", "PP", "EP", "stage 0 GB", "step", "TFLOPS", "MFU");
  for (const NamedModel& m : models) fmt::print("{}", search_row(flags, m));
  fmt::print("\n1 PP * EP = GCDs; 2 EP divides E; 3 PP <= layers; 4 EP <= 32, one switch group; 5 memory of stage 0 <= "
             "64 GB:\n"
             "plans left after each\n\n"
             "moving all experts of a GCD (48 E d d_ffn / 8 bytes) at 50 GB/s\n\n"
             "{:<20}{:>9}{:>9}{:>10}{:>10}\n",
             "model", "GB", "GiB", "ms of GB", "ms of GiB");
  for (const NamedModel& m : models) fmt::print("{}", migration_row(flags, m));
  return kExitOk;
}

double number(const Source& source, const CsvRow& row, std::size_t field) {
  std::size_t used = 0;
  double value = 0.0;
  try {
    value = std::stod(row.fields[field], &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != row.fields[field].size() || !(value > 0.0))
    throw InputError(csv_line(source, row.line), fmt::format("'{}' is no positive number", row.fields[field]));
  return value;
}

// model,nodes,pp,ep,micro_batches,tflops
std::vector<PiperRun> read_ladder(const PiperFlags& flags, std::vector<std::string>& names) {
  const Source source = Source::file(flags.ladder, read_file(flags.ladder));
  const CsvTable table = read_csv(source);
  const std::vector<std::string> columns = {"model", "nodes", "pp", "ep", "micro_batches", "tflops"};
  if (table.columns != columns)
    throw InputError(csv_line(source, 1), "the columns must be model,nodes,pp,ep,micro_batches,tflops");
  std::vector<PiperRun> runs;
  for (const CsvRow& row : table.rows) {
    const NamedModel named = load(row.fields[0], flags.seq);
    const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(number(source, row, i)); };
    const PiperPlan plan{whole(2), whole(3), whole(4)};
    runs.push_back({with_batch(named.model, plan.ep, plan.micro_batches, flags.sequences), cluster_of(flags, whole(1)),
                    plan, named.matrices, 1e12 * number(source, row, 5)});
    names.push_back(named.name);
  }
  return runs;
}

int ladder(const PiperFlags& flags) {
  std::vector<std::string> names;
  const std::vector<PiperRun> runs = read_ladder(flags, names);
  const double rate = fit_rate(runs, flags.peak * 1e12);
  fmt::print("one fitted efficiency: {:.1f} TFLOPS sustained by a GCD on attention and experts, {:.1f} % of {:g}\n\n"
             "{:<20}{:>6}{:>5}{:>5}{:>5}{:>10}{:>11}{:>8}{:>12}\n",
             rate / 1e12, 100.0 * rate / (flags.peak * 1e12), flags.peak, "model", "GCDs", "PP", "EP", "M", "measured",
             "predicted", "error", "all-to-all");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PiperRun& r = runs[i];
    const PiperEstimate e = piper_estimate(r.model, r.cluster, r.plan, rate, r.expert_matrices);
    fmt::print("{:<20}{:>6}{:>5}{:>5}{:>5}{:>10.2f}{:>11.2f}{:>8}{:>12}\n", names[i], 8 * r.cluster.nodes, r.plan.pp,
               r.plan.ep, r.plan.micro_batches, r.measured_flops_per_gpu / 1e12, e.flops_per_gpu / 1e12,
               fmt::format("{:+.1f} %", 100.0 * (e.flops_per_gpu / r.measured_flops_per_gpu - 1.0)),
               fmt::format("{:.1f} %", 100.0 * e.all_to_all_s / (e.compute_s + e.all_to_all_s)));
  }
  return kExitOk;
}

} // namespace

void add_piper(CLI::App& app, int& code) {
  auto flags = std::make_shared<PiperFlags>();
  flags->models = {"mixtral_8x7b", "mixtral_8x22b", "grok1_314b", "deepseek_v2", "deepseek_v3"};
  CLI::App* command =
      app.add_subcommand("piper", "Piper's analytic (PP, EP) search and migration costs on Frontier, literally");
  command->add_option("models", flags->models, "models with experts (tessella list models)")->capture_default_str();
  command->add_option("--nodes", flags->nodes, "Frontier nodes of 8 GCDs")
      ->check(CLI::Range(1, 9472))
      ->capture_default_str();
  command->add_option("--seq", flags->seq, "sequence length")->check(CLI::Range(1, 1 << 24))->capture_default_str();
  command->add_option("--micro-batches", flags->micro_batches, "M, of a step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--mbs", flags->sequences, "sequences of a GCD and micro-batch")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--rate", flags->rate, "TFLOPS that a GCD sustains on attention and experts")
      ->check(CLI::Range(1.0, 1e4))
      ->capture_default_str();
  command->add_option("--peak", flags->peak, "peak TFLOPS of a GCD, for MFU")
      ->check(CLI::Range(1.0, 1e5))
      ->capture_default_str();
  command->add_flag("--per-rank-tokens", flags->repaired,
                    "divide attention activations by EP too, as the experts' are: repairs the paper's inconsistency");
  command->add_flag("--no-flash", flags->no_flash, "keep the activations that grow with the square of the sequence");
  command
      ->add_option("--ladder", flags->ladder,
                   "fit one efficiency to measured runs: model,nodes,pp,ep,micro_batches,tflops")
      ->type_name("RUNS.csv");
  command->footer(
      "Examples:\n  tessella piper mixtral_8x7b --nodes 64\n"
      "  tessella piper --ladder experiments/07_piper/fig14.csv\n"
      "b is the global batch in both terms of the memory formula, as printed; --per-rank-tokens repairs it.");
  command->callback(
      [flags, &code] { code = guarded([&] { return flags->ladder.empty() ? tables(*flags) : ladder(*flags); }); });
}

} // namespace tessella
