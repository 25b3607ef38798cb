// `run --json`: stable keys in a fixed order, SI seconds and bytes, numbers in their shortest form that reads back to
// the same double. The text is a function of (Scenario, RunResult) alone, so equal results give equal bytes; only the
// last block, `sim`, differs between two identical runs. Ledger values are fractions of step time, mean over ranks.
#pragma once

#include <string>

#include "sim/domain/scenario.h"
#include "sim/ledger/result.h"

namespace tessella {

// Ends with a newline. Bytes that are not UTF-8 become U+FFFD; numbers that are not finite become null.
std::string run_json(const Scenario& scenario, const RunResult& result);

} // namespace tessella
