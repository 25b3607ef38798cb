#include "calib/loop/validate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "calib/host/crew.h"
#include "calib/host/host_clock.h"
#include "calib/host/host_profile.h"
#include "calib/host/measure_ranks.h"
#include "calib/loop/execute.h"
#include "calib/loop/shapes.h"
#include "calib/loop/simulate.h"
#include "calib/protocol/run_record.h"
#include "sim/base/atomic_file.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

using Json = nlohmann::ordered_json;

// `working_set`: what a rank touches between two uses of the same weight.
MeasureOptions kernel_options(std::size_t working_set) {
  MeasureOptions o;
  o.rotate_bytes = working_set;
  o.stop.ci95 = 0.02;
  o.stop.min_samples = 9;
  o.stop.max_samples = 60;
  o.stop.max_seconds = 0.1;
  o.throttled_share = 0.98; // a shared machine may be busy; what was dropped is reported
  return o;
}

// Threads on this host's cores as ranks.
class HostLoop : public LoopMachine {
 public:
  HostLoop(const LoopModel& model, const std::vector<LoopPlan>& plans) : shapes_(loop_shapes(model, plans)) {
    for (const LoopPlan& plan : plans) {
      executions_.emplace_back(model, plan);
      ranks_ = std::max(ranks_, plan.world());
      for (const std::int64_t params : executions_.back().parameters_per_rank())
        working_set_ = std::max(working_set_, 2 * sizeof(float) * static_cast<std::size_t>(params)); // and gradients
    }
  }
  DeviceIdentity identity() const override { return {"host", cpu_name(), "", "", ""}; }
  std::int64_t memory_bytes() const override {
    return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  }
  std::vector<LoopShape> shapes() const override { return shapes_; }
  RawRow measure(const OpShape& shape) override {
    if (shape.ranks > 1) return measure_collective(shape, kernel_options(working_set_));
    return measure_on_ranks(shape, ranks_, kernel_options(working_set_), {Temperature::cold}).front();
  }
  std::vector<ExecutedStep> run(std::size_t plan, int warmup, int wanted, int limit) override {
    return executions_[plan].run(warmup, wanted, limit);
  }

 private:
  std::vector<LoopShape> shapes_;
  std::vector<PlanExecution> executions_;
  int ranks_ = 1;
  std::size_t working_set_ = 0;
};

class Rounds {
 public:
  Rounds(const ValidateOptions& options, LoopMachine& machine)
      : options_(options), machine_(machine), shapes_(machine.shapes()), rows_(shapes_.size()),
        steps_(options.plans.size()), plan_medians_(options.plans.size()) {}

  void run() {
    for (int round = 0; round < options_.rounds; ++round) {
      say(fmt::format("round {} of {}: {} kernels, then {} plans", round + 1, options_.rounds, shapes_.size(),
                      options_.plans.size()));
      for (std::size_t i = 0; i < shapes_.size(); ++i) rows_[i].push_back(machine_.measure(shapes_[i].shape));
      for (std::size_t p = 0; p < steps_.size(); ++p) {
        auto steps = machine_.run(p, 2, options_.steps, 3 * options_.steps);
        if (options_.require_undisturbed) require_undisturbed(options_.plans[p], steps);
        plan_medians_[p].push_back(typical_step(steps).seconds);
        std::move(steps.begin(), steps.end(), std::back_inserter(steps_[p]));
      }
    }
  }

  std::vector<RawRow> pooled() const {
    std::vector<RawRow> all;
    for (const auto& rounds : rows_) all.push_back(pool(rounds));
    return all;
  }
  double drift() const {
    double largest = spread(kernel_seconds());
    for (const auto& medians : plan_medians_) largest = std::max(largest, spread(medians));
    return largest;
  }
  double weight(const OpShape& shape) const {
    for (const LoopShape& s : shapes_)
      if (s.shape == shape) return s.count;
    return 1.0;
  }
  const std::vector<ExecutedStep>& steps(std::size_t plan) const { return steps_[plan]; }

 private:
  static void require_undisturbed(const LoopPlan& plan, const std::vector<ExecutedStep>& steps) {
    const ExecutedStep& calmest = *std::min_element(
        steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.disturbed < b.disturbed; });
    if (calmest.disturbed <= kDisturbedShare * calmest.seconds) return;
    throw MachineBusy(fmt::format("{}: each of {} steps was disturbed, the calmest for {:.1f} of {:.1f} ms", plan.name,
                                  steps.size(), 1e3 * calmest.disturbed, 1e3 * calmest.seconds));
  }
  // [round]: every kernel as often as the plans run it.
  std::vector<double> kernel_seconds() const {
    std::vector<double> sums(static_cast<std::size_t>(options_.rounds), 0.0);
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const bool all =
          std::all_of(rows_[i].begin(), rows_[i].end(), [](const RawRow& row) { return row.status == RowStatus::ok; });
      for (std::size_t r = 0; all && r < sums.size(); ++r)
        sums[r] += shapes_[i].count * rows_[i][r].measurement.summary.median;
    }
    return sums;
  }
  static double spread(const std::vector<double>& seconds) {
    const auto [fastest, slowest] = std::minmax_element(seconds.begin(), seconds.end());
    return *slowest / *fastest - 1.0;
  }
  void say(const std::string& line) const {
    if (options_.say) options_.say(line);
  }

  const ValidateOptions& options_;
  LoopMachine& machine_;
  std::vector<LoopShape> shapes_;
  std::vector<std::vector<RawRow>> rows_;         // [shape][round]
  std::vector<std::vector<ExecutedStep>> steps_;  // [plan]
  std::vector<std::vector<double>> plan_medians_; // [plan][round]
};

void require_empty(const std::string& folder) {
  std::filesystem::create_directories(folder);
  if (!std::filesystem::is_empty(folder)) throw InputError(folder, "is not empty; a validation keeps its own folder");
}

void write_measurements(const ValidateOptions& options, const std::vector<RawRow>& rows, const DeviceIdentity& device) {
  RawTable table(options.folder + "/raw.csv");
  for (const RawRow& row : rows) table.append(row);
  RunRecord record;
  record.device = device;
  record.date = utc_now();
  record.command = "tessella-calib validate";
  record.complete = true;
  write_file(options.folder + "/run.json", to_json(record));
}

Json shares_json(const Shares& s) {
  return {{"exposed_ep", s.exposed_ep},
          {"exposed_pp", s.exposed_pp},
          {"exposed_dp", s.exposed_dp},
          {"imbalance", s.imbalance},
          {"bubble", s.bubble}};
}

Json row_json(const Comparison& c) {
  Json stages = Json::array();
  for (const StageTime& s : c.stages)
    stages.push_back({{"stage", s.stage},
                      {"kind", std::string(1, letter(s.kind))},
                      {"measured_s", s.measured},
                      {"predicted_s", s.simulated}});
  return {{"id", c.plan.name},
          {"measured_s", c.step.median},
          {"mad_s", c.step.mad},
          {"steps", c.step.n},
          {"disturbed", c.disturbed},
          {"predicted_s", c.simulated},
          {"error", c.error},
          {"same_order", c.same_order},
          {"order_difference", c.order_difference},
          {"stages", stages},
          {"measured_shares", shares_json(c.measured_shares)},
          {"predicted_shares", shares_json(c.simulated_shares)}};
}

// "12.3/12.5": measured and simulated.
std::string both(double measured, double simulated) {
  return fmt::format("{:.1f}/{:.1f}", 100.0 * measured, 100.0 * simulated);
}

std::string shares_line(const Comparison& c) {
  const Shares& m = c.measured_shares;
  const Shares& s = c.simulated_shares;
  const StageTime* worst = &c.stages.front();
  const auto error = [](const StageTime& t) { return t.simulated / t.measured - 1.0; };
  for (const StageTime& t : c.stages)
    if (std::abs(error(t)) > std::abs(error(*worst))) worst = &t;
  return fmt::format("{:<24} {:>11} {:>11} {:>11} {:>13} {:>13}  {}{} {:+.1f} %\n", c.plan.name,
                     both(m.exposed_ep, s.exposed_ep), both(m.exposed_pp, s.exposed_pp),
                     both(m.exposed_dp, s.exposed_dp), both(m.imbalance, s.imbalance), both(m.bubble, s.bubble),
                     worst->stage, letter(worst->kind), 100.0 * error(*worst));
}

void summarize(Validation& v) {
  std::vector<double> errors;
  for (const Comparison& c : v.plans) errors.push_back(std::abs(c.error));
  v.median_abs_error = median(errors);
  v.max_abs_error = errors.empty() ? 0.0 : *std::max_element(errors.begin(), errors.end());
  v.ranking = rank_pairs(v.plans, 0.05);
}

} // namespace

Validation validate(const ValidateOptions& options) {
  require_empty(options.folder);
  std::optional<HostLoop> host;
  if (options.machine == nullptr) host.emplace(options.model, options.plans);
  LoopMachine& machine = host ? *host : *options.machine;
  Validation v;
  v.cpu = machine.identity().gpu;
  Rounds rounds(options, machine);
  {
    const RealtimeScope scope(options.realtime);
    v.realtime = scope.granted();
    rounds.run();
  }
  const std::vector<RawRow> rows = rounds.pooled();
  write_measurements(options, rows, machine.identity());
  for (const RawRow& row : rows) v.kernel_samples_dropped += row.measurement.throttled;
  v.kernels = static_cast<std::int64_t>(rows.size());
  v.drift = rounds.drift();
  HostFit fit =
      fit_host(rows, "host_core/closed_loop", v.cpu, [&](const OpShape& shape) { return rounds.weight(shape); });
  fit.profile.gpu.memory = {machine.memory_bytes()};
  for (std::size_t p = 0; p < options.plans.size(); ++p) {
    const LoopPlan& plan = options.plans[p];
    write_experiment(options.folder, options.model, plan, fit);
    const SimulatedStep simulated = simulate(options.tessella, options.folder, plan);
    v.plans.push_back(compare(plan, rounds.steps(p), simulated));
    write_file(fmt::format("{}/{}.side_by_side.trace.json", options.folder, plan.name),
               side_by_side_trace(typical_step(rounds.steps(p)), simulated));
  }
  summarize(v);
  write_file(options.folder + "/validation.json", to_json(v));
  return v;
}

std::string to_json(const Validation& v) {
  Json rows = Json::array();
  for (const Comparison& c : v.plans) rows.push_back(row_json(c));
  const Json root = {{"cpu", v.cpu},
                     {"realtime", v.realtime},
                     {"rows", rows},
                     {"overall",
                      {{"n", v.plans.size()},
                       {"median_abs_error", v.median_abs_error},
                       {"max_abs_error", v.max_abs_error},
                       {"pairs", v.ranking.pairs},
                       {"pairs_wrong", v.ranking.wrong},
                       {"drift", v.drift},
                       {"kernels", v.kernels},
                       {"kernel_samples_dropped", v.kernel_samples_dropped}}}};
  return root.dump(2) + "\n";
}

std::string to_text(const Validation& v) {
  std::string text = fmt::format("{:<24} {:>10} {:>7} {:>6} {:>10} {:>10} {:>8}  {}\n", "plan", "measured", "scatter",
                                 "steps", "disturbed", "simulated", "error", "order");
  for (const Comparison& c : v.plans)
    text += fmt::format("{:<24} {:>7.2f} ms {:>5.1f} % {:>6} {:>10} {:>7.2f} ms {:>+6.1f} %  {}\n", c.plan.name,
                        1e3 * c.step.median, 100.0 * c.step.mad / c.step.median, c.step.n, c.disturbed,
                        1e3 * c.simulated, 100.0 * c.error, c.same_order ? "same" : c.order_difference);
  text += fmt::format("\n{:<24} {:>11} {:>11} {:>11} {:>13} {:>13}  {}\n", "% of step, both", "exposed EP",
                      "exposed PP", "exposed DP", "imbalance", "bubble", "worst stage");
  for (const Comparison& c : v.plans) text += shares_line(c);
  text += fmt::format("\nmedian |error| {:.1f} %, worst {:.1f} %; of {} pairs that differ by more than 5 %, {} in the "
                      "wrong order; rounds differ by up to {:.1f} %\n",
                      100.0 * v.median_abs_error, 100.0 * v.max_abs_error, v.ranking.pairs, v.ranking.wrong,
                      100.0 * v.drift);
  return text;
}

} // namespace tessella::calib
