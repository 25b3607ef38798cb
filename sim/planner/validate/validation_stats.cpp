#include "sim/planner/validate/validation_stats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/base/check.h"
#include "sim/planner/validate/measured_cluster.h"

namespace tessella {
namespace {

double throughput(const JudgedRun& r, double step_s) {
  const double tokens =
      static_cast<double>(r.scenario->batch.global_batch_size) * static_cast<double>(r.scenario->batch.seq_length);
  return tokens / step_s / static_cast<double>(r.scenario->parallelism.world_size);
}

bool same_but_switches(const JudgedRun& a, const JudgedRun& b) {
  const Scenario& x = *a.scenario;
  const Scenario& y = *b.scenario;
  return a.row->group == b.row->group && a.run->sw == b.run->sw && a.run->gpu == b.run->gpu && x.model == y.model &&
         x.cluster == y.cluster && x.parallelism == y.parallelism && x.batch == y.batch && x.precision == y.precision &&
         a.run->precision == b.run->precision && x.partition == y.partition;
}

std::string only_difference(const JudgedRun& a, const JudgedRun& b) {
  std::string what;
  int differences = 0;
  const auto differ = [&](const std::string& x, const std::string& y, const char* name) {
    if (x == y) return;
    ++differences;
    what = name;
  };
  differ(a.run->overlap, b.run->overlap, "overlap");
  differ(a.run->dispatcher, b.run->dispatcher, "dispatcher");
  differ(a.run->routing, b.run->routing, "routing");
  return differences == 1 ? what : "";
}

} // namespace

double quantile(std::vector<double> values, double q) {
  TSL_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

void add_naive(const std::vector<JudgedRun>& runs, const std::vector<JudgedRun>& teachers) {
  const auto rate = [](const JudgedRun& r) {
    return r.model_flops / r.row->measured_s / static_cast<double>(r.row->gpus);
  };
  const auto like = [](const JudgedRun& a, const JudgedRun& b) {
    return a.row->precision == b.row->precision && a.row->kind == b.row->kind &&
           a.scenario->profile.gpu.bf16_peak == b.scenario->profile.gpu.bf16_peak;
  };
  for (const JudgedRun& r : runs) {
    std::vector<double> rates;
    for (const JudgedRun& other : teachers)
      if (other.row->group != r.row->group && like(r, other)) rates.push_back(rate(other));
    if (!rates.empty()) r.row->naive_error = rate(r) / quantile(rates, 0.5) - 1.0;
  }
}

ErrorSummary summary_of(const std::vector<const ValidationRow*>& rows) {
  ErrorSummary s;
  std::vector<double> error, abs_error, raw, abs_raw, naive;
  double inside = 0.0;
  for (const ValidationRow* r : rows) {
    if (!r->modelled) ++s.not_modelled;
    if (!r->judged) continue;
    error.push_back(r->error);
    abs_error.push_back(std::abs(r->error));
    raw.push_back(r->raw_error);
    abs_raw.push_back(std::abs(r->raw_error));
    if (r->naive_error) naive.push_back(std::abs(*r->naive_error));
    inside += r->covered() ? 1.0 : 0.0;
  }
  s.n = static_cast<std::int64_t>(error.size());
  if (error.empty()) return s;
  s.median_error = quantile(error, 0.5);
  s.median_abs_error = quantile(abs_error, 0.5);
  s.p90_abs_error = quantile(abs_error, 0.9);
  s.raw_median_error = quantile(raw, 0.5);
  s.raw_median_abs_error = quantile(abs_raw, 0.5);
  if (!naive.empty()) s.naive_median_abs_error = quantile(naive, 0.5);
  s.coverage = inside / static_cast<double>(error.size());
  return s;
}

void summarize(ValidationReport& report) {
  std::vector<const ValidationRow*> all;
  std::map<std::string, std::vector<const ValidationRow*>> groups, classes;
  for (const ValidationRow& r : report.rows) {
    all.push_back(&r);
    groups[r.group].push_back(&r);
    if (r.judged) classes[(is_hopper(r.gpu) ? "hopper " : r.gpu + " ") + r.kind].push_back(&r);
  }
  report.overall = summary_of(all);
  for (const auto& [name, rows] : classes) report.classes.push_back({name, summary_of(rows)});
  for (const auto& [name, rows] : groups) report.groups.push_back({name, summary_of(rows)});
}

std::vector<LadderTau> ladders(const std::vector<JudgedRun>& runs) {
  std::map<std::string, std::vector<const JudgedRun*>> by_model;
  for (const JudgedRun& r : runs) by_model[r.row->model + ", " + r.row->gpu + ", " + r.row->precision].push_back(&r);
  std::vector<LadderTau> all;
  for (const auto& [name, rows] : by_model) {
    if (rows.size() < 3) continue;
    LadderTau ladder{name, static_cast<std::int64_t>(rows.size()), 0, 0.0};
    double balance = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = i + 1; j < rows.size(); ++j) {
        const double measured =
            throughput(*rows[i], rows[i]->row->measured_s) / throughput(*rows[j], rows[j]->row->measured_s);
        const double predicted =
            throughput(*rows[i], rows[i]->row->predicted_s) / throughput(*rows[j], rows[j]->row->predicted_s);
        if (std::abs(std::log(measured)) < kTie) continue;
        ++ladder.pairs;
        const double sign = (measured - 1.0) * (predicted - 1.0);
        balance += sign > 0.0 ? 1.0 : sign < 0.0 ? -1.0 : 0.0;
      }
    if (ladder.pairs > 0) ladder.tau = balance / static_cast<double>(ladder.pairs);
    all.push_back(ladder);
  }
  return all;
}

std::vector<SwitchPair> switch_pairs(const std::vector<JudgedRun>& runs) {
  std::vector<SwitchPair> pairs;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::size_t j = i + 1; j < runs.size(); ++j) {
      if (!same_but_switches(runs[i], runs[j])) continue;
      const std::string what = only_difference(runs[i], runs[j]);
      if (what.empty()) continue;
      const double measured = runs[j].row->measured_s / runs[i].row->measured_s - 1.0;
      if (std::abs(measured) < kTie) continue;
      const double predicted = runs[j].row->predicted_s / runs[i].row->predicted_s - 1.0;
      pairs.push_back({what, runs[i].row->id, runs[j].row->id, measured, predicted, predicted != 0.0});
    }
  return pairs;
}

} // namespace tessella
