// From sums to answers: step time, throughput, MFU, shares. Pure arithmetic on records; the only place that divides.
#pragma once

#include "sim/base/units.h"
#include "sim/domain/scenario.h"
#include "sim/exec/records.h"
#include "sim/ledger/result.h"

namespace tessella {

// FLOPs of one step of the whole job, by the scenario's convention.
struct StepFlops {
  Flops model;    // without recompute
  Flops hardware; // with it
};

// `records` holds at least one step that counts. MFU = model FLOPs / (step time * GPUs * dense BF16 peak), also for FP8
// runs.
RunResult summarize(const Scenario& scenario, const RunRecords& records, const StepFlops& flops,
                    const MemoryReport& memory);

} // namespace tessella
