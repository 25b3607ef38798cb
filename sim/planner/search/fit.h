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

// The same in two steps, for many scenarios of one model: the layout of this many stages, and whether a scenario is
// legal with it.
std::string flops_layout(const Scenario& scenario, std::int64_t num_stages);
struct LegalTrial {
  std::optional<Scenario> scenario;
  std::string broken; // without one: the key of the first rule it breaks, as Violation::key has it
};
LegalTrial legal_with_layout(Scenario scenario, const std::string& layout);

// Of the fullest rank at balanced load. Where the model state alone does not fit, activations are left out and no
// schedule is made. The scenario is legal.
struct MemoryRoom {
  Bytes free; // negative when it does not fit
  bool state_fits = true;
};
MemoryRoom memory_room(const Scenario& scenario);
Bytes free_memory(const Scenario& scenario);

// Single changes on the same GPUs and with the same global batch after which the scenario fits: more recompute, fewer
// chunks, half the micro-batch, double EP, TP, PP or CP; in that order, as a user types them ("--set
// parallelism.ep=64"). Empty when none helps. O(changes * slots).
std::vector<std::string> changes_that_fit(const Scenario& scenario);

} // namespace tessella
