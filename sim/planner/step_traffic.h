// What the collectives inside layers move in one step: bytes, and the time that takes alone.
#pragma once

#include <vector>

#include "sim/domain/scenario.h"
#include "sim/ledger/result.h"

namespace tessella {

// One row per collective and tier ("dispatch_deepep fabric"), in the order of the layers; mean over all ranks, at
// balanced load. Left out: gradient reduction, messages between stages, and exchanges hidden inside an op (ring
// attention). Empty for profiles of form uniform_stage. O(kinds * ops); throws NotCovered as make_model_ops does.
std::vector<TrafficRow> step_traffic(const Scenario& scenario);

} // namespace tessella
