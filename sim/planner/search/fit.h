// Is a configuration legal, does it fit, and what single change would make it fit? Layers are placed by model FLOPs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/domain/scenario.h"

namespace tessella {

// The scenario with FLOPs-balanced layers when grid, batch, schedule and routing are legal; its own partition is
// ignored.
std::optional<Scenario> legal_with_flops_layers(Scenario scenario);

// Of the fullest rank at balanced load; negative when it does not fit. Where the model state alone does not,
// activations are left out and no schedule is made. The scenario is legal.
Bytes free_memory(const Scenario& scenario);

// Single changes on the same GPUs and with the same global batch after which the scenario fits: more recompute, fewer
// chunks, half the micro-batch, double EP, TP, PP or CP; in that order, as a user types them ("--set
// parallelism.ep=64"). Empty when none helps. O(changes * slots).
std::vector<std::string> changes_that_fit(const Scenario& scenario);

} // namespace tessella
