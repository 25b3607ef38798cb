// Scenario in, answer out: lower -> run -> account. The one path that the command line, the planner and every what-if
// use, so no part of the product has a cost model of its own.
#pragma once

#include "sim/domain/scenario.h"
#include "sim/exec/program.h"
#include "sim/exec/run.h"
#include "sim/ledger/result.h"
#include "sim/planner/overlap/overlap_list.h"

namespace tessella {

// The order the scenario asks for: its imported one, else a generated one, whose spec must be legal
// (check_schedule_spec).
Schedule schedule_of(const Scenario& scenario);

// Templates and positions, whether the profile is a real one or two uniform numbers.
struct LoweredStep {
  Program program;
  std::optional<PairUse> pairs;
};

// Pairs run in the orders that scenario.overlap gives or asks for; its orders must have no problem
// (sim/planner/overlap/pair_orders.h). `align` holds the constants of the list schedulers. The result does not depend
// on the number of threads.
LoweredStep lower_step(const Scenario& scenario, const Schedule& schedule, unsigned threads = 1,
                       const AlignRule& align = {});

// Memory of the schedule that would run; `hottest_load` is max / mean tokens over the ranks of an EP group.
MemoryReport memory_of(const Scenario& scenario, const Schedule& schedule, double hottest_load);

// What the scenario asks of the bubble filler, within the memory that its static plan leaves free at this load.
FillerOptions filler_options(const Scenario& scenario, const Schedule& schedule, double hottest_load);

// The 5 % and 95 % steps of the simulation, times the 5 % and 95 % quantiles of measured over predicted steps (profile
// rows step_dense and step_moe): as if both were bad at once, so rather too wide.
// Nothing when the profile has no such row: it was never held against training runs.
std::optional<PredictionInterval> predict_interval(const Scenario& scenario, const RunResult& result);

// For RunOptions::enough: stops once the 95 % confidence interval of the mean step time is within +- `precision` of it
// (0.005 = 0.5 %). Judged every 10 steps from 30 on, and only when these are 10 correlation times.
std::function<bool(const std::vector<StepRecord>&)> enough_at(double precision);

// options.steps and options.seed are taken from the scenario. Throws NotCovered when the profile lacks a cost.
RunResult simulate(const Scenario& scenario, RunOptions options, const AlignRule& align = {});

} // namespace tessella
