#include "sim/planner/validate/calibrate.h"

#include <cmath>
#include <memory>

#include "sim/base/error.h"
#include "sim/planner/validate/factor_fit.h"

namespace tessella {
namespace {

constexpr int kRounds = 4;        // Gauss-Newton: the factors may be far from 1
constexpr double kNinety = 1.645; // 90 % of a normal distribution lies within

struct Case {
  CalibratedRun out;
  std::optional<Scenario> scenario;
  Probe probe;
};

std::vector<Case> cases_of(std::span<const MeasuredRun> runs, const ValidationInput& input) {
  std::vector<Case> cases;
  for (const MeasuredRun& run : runs) {
    Case c;
    c.out.id = run.id;
    auto made = scenario_of(run, input);
    if (const auto* none = std::get_if<NotModelled>(&made)) {
      c.out.reason = none->reason;
    } else {
      c.scenario = std::move(std::get<Scenario>(made));
      if (const double seconds = measured_step_s(run, *c.scenario); seconds > 0.0) c.out.measured_s = seconds;
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

void probe_all(std::vector<Case>& cases, const Factors& at, const ForEach& each) {
  each(cases.size(), [&](std::size_t i) {
    Case& c = cases[i];
    if (!c.scenario) return;
    c.probe = probe(*c.scenario, at);
    c.out.reason = c.probe.problem;
    if (!c.probe.problem.empty()) c.scenario.reset();
  });
}

// log(measured / predicted) as a linearisation around `at` sees it from neutral factors.
std::vector<FitRun> fit_runs(const std::vector<Case>& cases, const Factors& at) {
  std::vector<FitRun> runs;
  for (const Case& c : cases) {
    if (!c.scenario || !c.out.measured_s) continue;
    FitRun run{std::log(*c.out.measured_s / c.probe.step_s), c.probe.sensitivity, 1.0, false};
    for (std::size_t k = 0; k < at.size(); ++k) run.log_ratio += run.sensitivity[k] * std::log(at[k]);
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<CalibratedRun> results(const std::vector<Case>& cases, const CalibrationFit& fit) {
  std::vector<CalibratedRun> out;
  for (const Case& c : cases) {
    out.push_back(c.out);
    if (!c.scenario) continue;
    const double width = std::exp(kNinety * log_spread(fit, c.probe.sensitivity));
    out.back().predicted_s = c.probe.step_s;
    out.back().low_s = c.probe.step_s / width;
    out.back().high_s = c.probe.step_s * width;
  }
  return out;
}

} // namespace

CalibrationReport calibrate(const ValidationInput& input, std::span<const MeasuredRun> predict, const ForEach& each) {
  std::vector<Case> measured = cases_of(input.runs, input);
  std::vector<Case> wanted = cases_of(predict, input);
  CalibrationFit fit{neutral_factors(), {}};
  for (std::vector<Case>* cases : {&measured, &wanted}) {
    probe_all(*cases, fit.factors, each);
    for (Case& c : *cases) c.out.raw_s = c.probe.step_s;
  }
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<FitRun> runs = fit_runs(measured, fit.factors);
    if (runs.empty()) {
      const std::string why = measured.empty() ? "the file has no row" : measured.front().out.reason;
      throw InputError("--calibrate", "no run can be used: " + why);
    }
    fit = fit_calibration(runs);
    probe_all(measured, fit.factors, each);
  }
  probe_all(wanted, fit.factors, each);
  return {fit.factors, results(measured, fit), results(wanted, fit)};
}

} // namespace tessella
