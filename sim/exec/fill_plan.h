// What a rank knows of the step before it runs: where the plan waits for messages and when it ends, from an offline run
// with balanced loads and exact kernels.
#pragma once

#include <cstdint>

#include "sim/exec/bubble_filler.h"
#include "sim/exec/loads.h"
#include "sim/exec/program.h"

namespace tessella {

// `loads` may be null when the program needs none; it is asked for `step`, which must be prepared. One replica's run.
FillPlan make_fill_plan(const Program& program, const LoadSource* loads, std::int64_t step);

} // namespace tessella
