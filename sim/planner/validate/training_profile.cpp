#include "sim/planner/validate/training_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/nearest.h"
#include "sim/planner/validate/factors.h"
#include "sim/planner/validate/measured_cluster.h"
#include "sim/planner/validate/measured_scenario.h"
#include "sim/planner/validate/validation_stats.h"

namespace tessella {
namespace {

// Files stay readable, and more digits are more than the fits can tell.
double rounded(double value, double steps) {
  return std::round(value * steps) / steps;
}

Factors factors_of(const ValidationReport& report, const std::optional<std::string>& left_out) {
  Factors out;
  for (const FactorValue& f : report.factors) {
    double value = f.value;
    for (const auto& [group, without] : f.without_group)
      if (left_out && group == *left_out) value = without;
    out.push_back(rounded(value, 100.0));
  }
  return out;
}

void check_group(const ValidationReport& report, const std::string& group) {
  std::set<std::string> groups;
  for (const ValidationRow& row : report.rows)
    if (row.judged) groups.insert(row.group);
  if (groups.count(group) != 0) return;
  const std::vector<std::string> names(groups.begin(), groups.end());
  const auto meant = nearest(group, names);
  throw InputError("--leave-out", fmt::format("no judged run is of group '{}'{}", group,
                                              meant ? fmt::format("; did you mean '{}'?", *meant) : ""));
}

// The step as an op of its own: between which factors nine of ten measured steps lay.
void add_steps(Profile& p, const ValidationReport& report, const TrainingProfileSpec& spec) {
  for (const std::string kind : {"dense", "moe"}) {
    std::vector<double> errors;
    std::vector<double> ratios;
    for (const ValidationRow& row : report.rows) {
      const bool same_class = is_hopper(p.gpu.name) ? is_hopper(row.gpu) : row.gpu == p.gpu.name;
      if (!row.judged || row.kind != kind || !same_class || row.group == spec.left_out) continue;
      errors.push_back(std::abs(row.error));
      ratios.push_back(row.measured_s / row.predicted_s);
    }
    if (errors.empty()) continue;
    const auto at = [](const std::vector<double>& values, double q) { return rounded(quantile(values, q), 1000.0); };
    p.entries.push_back({"step_" + kind,
                         "",
                         "",
                         "spread",
                         {{"low", at(ratios, 0.05)}, {"high", at(ratios, 0.95)}},
                         Provenance::measured,
                         fmt::format("{}: step times, each predicted without its own group", spec.runs),
                         Residual{at(errors, 0.5), at(errors, 0.95), static_cast<std::int64_t>(errors.size())}});
  }
}

} // namespace

bool knows_training_runs(const Profile& profile) {
  return profile.find("step_dense") != nullptr || profile.find("step_moe") != nullptr;
}

Profile training_profile(const Profile& kernels, const ValidationReport& report, const TrainingProfileSpec& spec) {
  if (spec.left_out) check_group(report, *spec.left_out);
  Profile base = kernels;
  if (base.find("host_moe") == nullptr) base.entries.push_back(host_of_moe_kernels());
  const Factors factors = factors_of(report, spec.left_out);
  Profile p = with_factors(base, factors);
  p.name = spec.name;
  const std::string without = spec.left_out ? fmt::format(" without group {}", *spec.left_out) : "";
  for (ProfileEntry& e : p.entries) {
    const auto k = factor_of(e);
    if (!k || factors[*k] == 1.0) continue;
    e.provenance = std::max(e.provenance, Provenance::derived);
    e.source += fmt::format("; times {:.2f}: factor '{}' fitted on {}{}", factors[*k], factor_table()[*k].name,
                            spec.runs, without);
  }
  add_steps(p, report, spec);
  return p;
}

} // namespace tessella
