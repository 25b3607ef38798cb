#include "sim/planner/validate/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/base/error.h"
#include "sim/cost/flops.h"
#include "sim/planner/simulate.h"
#include "sim/planner/validate/factor_fit.h"
#include "sim/planner/validate/measured_cluster.h"
#include "sim/planner/validate/measured_scenario.h"
#include "sim/planner/validate/validation_interval.h"
#include "sim/planner/validate/validation_stats.h"

namespace tessella {
namespace {

constexpr double kShare = 0.9; // of rows that an interval is meant to cover
constexpr double kProbe = 1.1; // a factor's sensitivity is taken between 1 and this

struct Work {
  const MeasuredRun* run = nullptr;
  bool teaches = true; // factors, intervals, the naive prediction
  std::optional<Scenario> scenario;
  std::size_t unique = 0; // into the list of scenarios that differ
};

struct Unique {
  const Scenario* scenario = nullptr;
  Probe raw; // without factors
};

double model_flops_of(const Scenario& s) {
  return model_flops(s.model, s.batch, s.flops_convention).count;
}

bool alike(const Scenario& a, const Scenario& b) {
  return a.model == b.model && a.cluster == b.cluster && a.profile == b.profile && a.parallelism == b.parallelism &&
         a.batch == b.batch && a.precision == b.precision && a.recompute == b.recompute &&
         a.dispatcher == b.dispatcher && a.schedule == b.schedule && a.optimizer == b.optimizer &&
         a.routing == b.routing && a.partition == b.partition;
}

double step_seconds(Scenario s, const Factors& factors) {
  s.profile = with_factors(s.profile, factors);
  return simulate(s, {}).step_time.seconds();
}

ValidationRow row_of(const MeasuredRun& run) {
  ValidationRow row;
  row.id = run.id;
  row.group = run.group;
  row.model = run.model;
  row.gpu = run.gpu;
  row.precision = run.precision;
  row.gpus = run.gpus.value_or(0);
  return row;
}

// Factors are shared by one generation of GPUs.
std::string hardware(const ValidationRow& row) {
  return is_hopper(row.gpu) ? "hopper" : row.gpu;
}

// A card whose profile is computed from another's tells nothing about that one's factors.
bool is_derived(const Scenario& s) {
  return s.profile.name.find("HBM2e") != std::string::npos;
}

std::string set_up(Work& work, const ValidationInput& input, ValidationRow& row) {
  auto made = scenario_of(*work.run, input);
  if (const auto* none = std::get_if<NotModelled>(&made)) return none->reason;
  work.scenario = std::move(std::get<Scenario>(made));
  row.gpu = work.scenario->cluster.gpu;
  row.model = work.scenario->model.name;
  row.kind = work.scenario->model.has_moe() ? "moe" : "dense";
  row.precision = name(work.scenario->precision);
  row.measured_s = measured_step_s(*work.run, *work.scenario);
  return row.measured_s > 0.0 ? "" : "nothing was measured";
}

std::string cell(const ValidationRow& r) {
  return r.group + '\n' + r.model + '\n' + r.precision;
}

Residue residue(const ValidationRow& r) {
  return {r.group, hardware(r), r.kind, cell(r), std::log(r.measured_s / r.predicted_s)};
}

class Validation {
 public:
  Validation(const ValidationInput& input, const ForEach& each) : input_(input), each_(each) {}

  ValidationReport run() {
    make_scenarios();
    each_(unique_.size(), [this](std::size_t i) { unique_[i].raw = probe(*unique_[i].scenario, neutral_factors()); });
    collect();
    fit_and_predict();
    add_intervals();
    const std::vector<JudgedRun> reported = judged([this](const Work& w) { return &w < &work_[input_.runs.size()]; });
    add_naive(reported, teachers_);
    report_.tau = ladders(reported);
    report_.pairs = switch_pairs(reported);
    report_.rows.resize(input_.runs.size());
    if (!input_.taught_by.empty()) report_.teachers = static_cast<std::int64_t>(teachers_.size());
    summarize(report_);
    return std::move(report_);
  }

 private:
  void make_scenarios() {
    const std::size_t reported = input_.runs.size();
    work_.resize(reported + input_.taught_by.size());
    report_.rows.resize(work_.size());
    each_(work_.size(), [this, reported](std::size_t i) {
      work_[i].run = i < reported ? &input_.runs[i] : &input_.taught_by[i - reported];
      work_[i].teaches = i >= reported || input_.taught_by.empty();
      report_.rows[i] = row_of(*work_[i].run);
      report_.rows[i].reason = set_up(work_[i], input_, report_.rows[i]);
    });
    for (Work& w : work_) {
      if (!w.scenario) continue;
      const auto same = std::find_if(unique_.begin(), unique_.end(),
                                     [&](const Unique& u) { return alike(*u.scenario, *w.scenario); });
      w.unique = static_cast<std::size_t>(same - unique_.begin());
      if (same == unique_.end()) unique_.push_back({&*w.scenario, {}});
    }
  }

  void collect() {
    for (std::size_t i = 0; i < work_.size(); ++i) {
      ValidationRow& row = report_.rows[i];
      if (!work_[i].scenario) continue;
      const Unique& u = unique_[work_[i].unique];
      if (!row.reason.empty()) continue;
      row.reason = u.raw.problem;
      if (!row.reason.empty()) continue;
      row.modelled = true;
      row.judged = work_[i].run->usable.empty() || work_[i].run->usable == "full";
      row.raw_s = row.predicted_s = u.raw.step_s;
      row.raw_error = u.raw.step_s / row.measured_s - 1.0;
      modelled_.push_back({work_[i].run, &*work_[i].scenario, &row, model_flops_of(*work_[i].scenario)});
    }
    teachers_ = judged([](const Work& w) { return w.teaches; });
  }

  std::size_t index(const JudgedRun& j) const { return static_cast<std::size_t>(j.row - report_.rows.data()); }

  template <typename Which>
  std::vector<JudgedRun> judged(Which which) const {
    std::vector<JudgedRun> some;
    for (const JudgedRun& j : modelled_)
      if (j.row->judged && which(work_[index(j)])) some.push_back(j);
    return some;
  }

  Factors fitted_without(const std::string& group, const std::string& gpu_class) const {
    std::map<std::string, double> cells;
    for (const JudgedRun& j : teachers_) cells[cell(*j.row)] += 1.0;
    std::vector<FitRun> runs;
    for (const JudgedRun& j : teachers_) {
      if (j.row->group == group || hardware(*j.row) != gpu_class || is_derived(*j.scenario) ||
          shards_parameters(*j.run))
        continue;
      runs.push_back({std::log(j.row->measured_s / j.row->raw_s), unique_[work_[index(j)].unique].raw.sensitivity,
                      1.0 / cells[cell(*j.row)], j.row->kind == "moe"});
    }
    return fit_factors(runs);
  }

  void fit_and_predict() {
    std::map<std::pair<std::string, std::string>, Factors> fitted; // (GPU class, group)
    for (const JudgedRun& j : modelled_) {
      fitted.try_emplace({hardware(*j.row), j.row->group}, Factors{});
    }
    for (auto& [key, factors] : fitted) factors = fitted_without(key.second, key.first);
    // One simulation per (scenario, set of factors).
    std::map<std::pair<std::size_t, std::string>, double> predicted;
    for (const JudgedRun& j : modelled_) predicted[{work_[index(j)].unique, j.row->group}] = 0.0;
    std::vector<std::pair<const std::pair<std::size_t, std::string>, double>*> jobs;
    for (auto& job : predicted) jobs.push_back(&job);
    each_(jobs.size(), [&](std::size_t i) {
      const Scenario& s = *unique_[jobs[i]->first.first].scenario;
      const std::string gpu_class = is_hopper(s.profile.gpu.name) ? "hopper" : s.profile.gpu.name;
      jobs[i]->second = step_seconds(s, fitted.at({gpu_class, jobs[i]->first.second}));
    });
    for (JudgedRun& j : modelled_) {
      j.row->predicted_s = predicted.at({work_[index(j)].unique, j.row->group});
      j.row->error = j.row->predicted_s / j.row->measured_s - 1.0;
    }
    const Factors all = fitted_without("", "hopper");
    for (std::size_t k = 0; k < factor_table().size(); ++k) {
      FactorValue value{factor_table()[k].name, factor_table()[k].meaning, all[k], {}};
      for (const auto& [key, factors] : fitted)
        if (key.first == "hopper") value.without_group.emplace_back(key.second, factors[k]);
      report_.factors.push_back(value);
    }
  }

  void add_intervals() {
    std::vector<Residue> residues;
    for (const JudgedRun& j : teachers_) residues.push_back(residue(*j.row));
    for (const JudgedRun& j : modelled_) {
      ValidationRow& row = *j.row;
      const auto& sensitivity = unique_[work_[index(j)].unique].raw.sensitivity;
      const double left_out = left_out_quantile(residues, residue(row), kShare);
      const double width = half_width(left_out, sensitivity, profile_spread(j.scenario->profile));
      row.low_s = row.predicted_s * std::exp(-width);
      row.high_s = row.predicted_s * std::exp(width);
    }
  }

  const ValidationInput& input_;
  const ForEach& each_;
  std::vector<Work> work_;
  std::vector<Unique> unique_;
  std::vector<JudgedRun> modelled_;
  std::vector<JudgedRun> teachers_; // of modelled_
  ValidationReport report_;
};

} // namespace

std::variant<Scenario, NotModelled> scenario_of(const MeasuredRun& run, const ValidationInput& input) {
  const auto gpu = profile_gpu(run.gpu);
  if (!gpu || input.profiles.count(*gpu) == 0) return NotModelled{"no profile for GPU " + run.gpu};
  const auto model = input.models.find(run.model);
  if (model != input.models.end()) return measured_scenario(run, model->second, input.profiles.at(*gpu));
  const auto why = input.no_model.find(run.model);
  return NotModelled{why == input.no_model.end() ? "no model is known by the name " + run.model : why->second};
}

Probe probe(const Scenario& scenario, const Factors& at) {
  Probe p;
  try {
    p.step_s = step_seconds(scenario, at);
    p.sensitivity.assign(factor_table().size(), 0.0);
    for (std::size_t k = 0; k < factor_table().size(); ++k) {
      if (factor_table()[k].of_moe && !scenario.model.has_moe()) continue;
      Factors f = at;
      f[k] *= kProbe;
      p.sensitivity[k] = std::log(step_seconds(scenario, f) / p.step_s) / std::log(kProbe);
    }
  } catch (const NotCovered& e) {
    p.problem = fmt::format("the profile lacks {}", e.missing().front());
  } catch (const InfeasiblePlan& e) {
    p.problem = e.what();
  }
  return p;
}

ValidationReport validate(const ValidationInput& input, const ForEach& each) {
  return Validation(input, each).run();
}

} // namespace tessella
