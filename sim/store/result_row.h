// One scenario's answer, flat: a row of the results database.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/domain/expression.h"
#include "sim/domain/scenario.h"
#include "sim/ledger/result.h"

namespace tessella {

// Numeric columns, in the order of the table. Times in seconds, memory in bytes, the ledger as fractions of step time
// (mean over ranks), as in `run --json`. smallest_world: fewest GPUs that fit, when this plan does not.
inline constexpr std::array kResultNumbers = std::to_array<std::string_view>({
    "step_time_s",
    "step_time_p05_s",
    "step_time_p95_s",
    "tokens_per_s_per_gpu",
    "tflops_per_gpu",
    "mfu",
    "hfu",
    "ranks",
    "compute",
    "overlapped",
    "exposed_ep",
    "exposed_tp",
    "exposed_cp",
    "exposed_pp",
    "exposed_dp",
    "imbalance",
    "bubble_warmup",
    "bubble_drain",
    "bubble_dependency",
    "optimizer",
    "ep_hidden_fraction",
    "stage_imbalance",
    "load_imbalance_mean",
    "memory_peak_bytes",
    "memory_capacity_bytes",
    "smallest_world",
});

// Text columns, in the order of the table.
inline constexpr std::array kResultTexts =
    std::to_array<std::string_view>({"key", "sweep", "experiment", "tool", "overrides", "status", "reason"});

struct ResultRow {
  std::string key;        // SHA-256 of what the answer depends on: 64 hexadecimal digits
  std::string sweep;      // name of the sweep
  std::string experiment; // path as given
  std::string tool;       // version
  std::string overrides;  // "a.b=v", one a line
  std::string status;     // ok, does_not_fit, illegal, not_covered, error
  std::string reason;     // why not ok; empty when ok
  std::array<std::optional<double>, kResultNumbers.size()> numbers{}; // all empty when nothing could be simulated
  bool operator==(const ResultRow&) const = default;
};

// The numbers of a run, and whether it fits.
void fill(ResultRow& row, const Scenario& scenario, const RunResult& result);

std::vector<std::string> overrides_of(const ResultRow& row);

// A column by its name, or an override by its path or the last part of it; nothing when there is neither.
ExprValue lookup(const ResultRow& row, const std::string& name);

// Header and lines, RFC 4180: key, status, reason, then one column per overridden path of any row (in order of
// appearance), then the numbers in their shortest form that reads back to the same double.
std::string to_csv(const std::vector<ResultRow>& rows);

} // namespace tessella
