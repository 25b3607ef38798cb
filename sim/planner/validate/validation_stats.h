// Figures over rows: quantiles, rank correlation, switch pairs, the naive predictor. Pure arithmetic.
#pragma once

#include <vector>

#include "sim/domain/measured_run.h"
#include "sim/domain/scenario.h"
#include "sim/domain/validation.h"

namespace tessella {

// Linear interpolation between order statistics; values is not empty.
double quantile(std::vector<double> values, double q);

// Two measurements closer than this are not ordered (run-to-run spread of tuned runs is about 1 %).
inline constexpr double kTie = 0.02;

// What the statistics need of a modelled row beside its result.
struct JudgedRun {
  const MeasuredRun* run = nullptr;
  const Scenario* scenario = nullptr;
  ValidationRow* row = nullptr;
  double model_flops = 0.0; // of a step, whole job
};

// Sets naive_error: predicted step = model FLOPs / (GPUs * the median FLOP rate per GPU of the same precision, kind and
// GPU peak in the other groups of `teachers`).
void add_naive(const std::vector<JudgedRun>& runs, const std::vector<JudgedRun>& teachers);

ErrorSummary summary_of(const std::vector<const ValidationRow*>& rows);
void summarize(ValidationReport& report);

// Ladders with at least 3 rows.
std::vector<LadderTau> ladders(const std::vector<JudgedRun>& runs);

// Pairs of one group that differ in exactly one of overlap, dispatcher and routing, and in the measurement by more than
// kTie.
std::vector<SwitchPair> switch_pairs(const std::vector<JudgedRun>& runs);

} // namespace tessella
