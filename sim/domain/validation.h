// What a comparison with measured runs found out: plain values, made by sim/planner/validate/validate.h, rendered by
// sim/report. Errors are signed fractions, predicted / measured - 1; "abs" figures are of their absolute values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessella {

struct ValidationRow {
  std::string id;
  std::string group;
  std::string model; // models/ name
  std::string kind;  // "dense" or "moe"
  std::string gpu;   // of the profile
  std::string precision;
  std::int64_t gpus = 0;
  bool modelled = false;
  bool judged = false; // counts in the summaries: modelled, and usable = full
  std::string reason;  // why not modelled
  double measured_s = 0.0;
  double raw_s = 0.0;       // without any factor
  double predicted_s = 0.0; // with the factors fitted on the other groups
  double error = 0.0;
  double raw_error = 0.0;
  std::optional<double> naive_error; // nothing when no other group has a run of the kind
  double low_s = 0.0;                // 5 to 95 % interval
  double high_s = 0.0;
  bool covered() const { return low_s <= measured_s && measured_s <= high_s; }
};

struct ErrorSummary {
  std::int64_t n = 0;
  std::int64_t not_modelled = 0;
  double median_error = 0.0; // signed
  double median_abs_error = 0.0;
  double p90_abs_error = 0.0;
  double raw_median_error = 0.0; // signed, without factors
  double raw_median_abs_error = 0.0;
  std::optional<double> naive_median_abs_error;
  double coverage = 0.0; // share of rows inside their interval
};

struct NamedSummary {
  std::string name;
  ErrorSummary summary;
};

// Does the order of predictions follow that of measurements? Rows of one model, GPU and precision; by tokens/s per GPU.
struct LadderTau {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t pairs = 0; // that differ by more than kTie in the measurement
  double tau = 0.0;       // (concordant - discordant) / pairs
};

// Two rows that differ in one switch.
struct SwitchPair {
  std::string what; // overlap, dispatcher, routing
  std::string first;
  std::string second;
  double measured = 0.0; // second / first - 1, in step time
  double predicted = 0.0;
  bool told_apart = true; // false: both rows became the same scenario, so no sign can be right
  bool right() const { return measured * predicted > 0.0; }
};

struct FactorValue {
  std::string name;
  std::string meaning;
  double value = 1.0;                                        // fitted on all groups; for use, not for judging
  std::vector<std::pair<std::string, double>> without_group; // group -> value fitted on the others
};

struct ValidationReport {
  std::vector<ValidationRow> rows;
  std::int64_t teachers = 0; // runs that taught factors and intervals and are not among the rows; 0: the rows did
  ErrorSummary overall;
  std::vector<NamedSummary> classes; // "hopper dense", "hopper moe", ...
  std::vector<NamedSummary> groups;
  std::vector<LadderTau> tau;
  std::vector<SwitchPair> pairs;
  std::vector<FactorValue> factors;
  double wall_s = 0.0;
};

} // namespace tessella
