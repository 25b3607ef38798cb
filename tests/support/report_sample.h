// A small hand-made run that every report test renders: 8 GPUs, PP = 2, EP = 2, two identical replicas, 1F1B with four
// micro-batches of F = 1 ms and B = 2 ms. By hand: makespan = (M + P - 1)(F + B) = 5 * 3 ms = 15 ms.
#pragma once

#include "sim/domain/scenario.h"
#include "sim/ledger/result.h"

namespace tessella::testing {

Scenario sample_scenario();
RunResult sample_result();

} // namespace tessella::testing
