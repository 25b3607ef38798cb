// `run --json`: stable keys in a fixed order, SI seconds and bytes, numbers in their shortest form that reads back to
// the same double. The text is a function of (Scenario, RunResult) alone, so equal results give equal bytes; only the
// last block, `sim`, differs between two identical runs. Ledger values are fractions of step time, mean over ranks;
// those of `pipeline_ranks` are of the first step, mean over the ranks of the position.
#pragma once

#include <string>

#include "sim/domain/scenario.h"
#include "sim/ledger/result.h"

namespace tessella {

struct JsonOptions {
  bool detail = false; // and the block `detail` (sim/report/detail.h): every rank's ledger, the traced ranks over time
};

// Ends with a newline. Bytes that are not UTF-8 become U+FFFD; numbers that are not finite become null. Without detail
// some 200 bytes per pipeline rank, 20 per step and 7 per MoE layer and EP rank; O(that).
std::string run_json(const Scenario& scenario, const RunResult& result, const JsonOptions& options = {});

} // namespace tessella
