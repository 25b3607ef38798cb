// Predicts measured runs from what their rows state, and says how far off.
//
// Three predictions per row: raw (no factor), the judged one (global factors fitted on the rows of the other groups),
// and the naive one (the others' median FLOP rate). A row that cannot be modelled is reported with its reason.
// Intervals: see validation_interval.h.
//
// Where `taught_by` has runs, only those teach factors, intervals and the naive prediction, and only `runs` are
// reported: what the model says of machines and software that it has never seen.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "sim/domain/measured_run.h"
#include "sim/domain/model.h"
#include "sim/domain/profile.h"
#include "sim/domain/validation.h"
#include "sim/planner/validate/factors.h"
#include "sim/planner/validate/measured_scenario.h"

namespace tessella {

struct ValidationInput {
  std::span<const MeasuredRun> runs;
  std::span<const MeasuredRun> taught_by;      // none: each group of `runs` by the other groups
  std::map<std::string, Model> models;         // by the rows' names
  std::map<std::string, std::string> no_model; // by the rows' names: why there is none
  std::map<std::string, Profile> profiles;     // by GPU (profile_gpu)
};

// Runs task(0) .. task(n - 1) in any order, on as many threads as it likes.
using ForEach = std::function<void(std::size_t n, const std::function<void(std::size_t)>& task)>;

// The scenario of one run, or why there is none.
std::variant<Scenario, NotModelled> scenario_of(const MeasuredRun& run, const ValidationInput& input);

// What a scenario takes under some factors, and how much each of them moves it: d log(step) / d log(factor), taken over
// +10 %. A step that cannot be simulated has a problem instead.
struct Probe {
  std::string problem;
  double step_s = 0.0;
  std::vector<double> sensitivity;
};
Probe probe(const Scenario& scenario, const Factors& at);

// Results do not depend on the threads behind `each`. Runs that are alike are simulated once.
ValidationReport validate(const ValidationInput& input, const ForEach& each);

} // namespace tessella
