// The op chains of a stage's pieces, in forward order: embedding, layers, MTP blocks, head.
#pragma once

#include <vector>

#include "sim/cost/layer_ops.h"
#include "sim/domain/scenario.h"

namespace tessella {

// Points into `ops`. O(layers of the stage).
std::vector<const OpChain*> stage_chains(const Model& model, const StageContent& stage, const ModelOps& ops);

} // namespace tessella
