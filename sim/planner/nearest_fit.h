// Which single change would make a scenario fit into memory: for the message of a plan that does not.
#pragma once

#include <string>
#include <vector>

#include "sim/domain/scenario.h"

namespace tessella {

// One change each, on the same GPUs and with the same global batch: more recompute, fewer chunks, a smaller micro-batch,
// the next larger EP, TP, PP or CP; those that are legal and fit with FLOPs-balanced layers, in that order. Texts as a
// user types them: "--set parallelism.ep=64". Empty when none helps. O(changes * slots).
std::vector<std::string> changes_that_fit(const Scenario& scenario);

} // namespace tessella
