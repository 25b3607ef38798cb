#include "sim/planner/stage_chains.h"

namespace tessella {

std::vector<const OpChain*> stage_chains(const Model& model, const StageContent& stage, const ModelOps& ops) {
  std::vector<const OpChain*> chains;
  if (stage.embedding) chains.push_back(&ops.embedding);
  for (std::int64_t i = 0; i < stage.num_layers; ++i)
    chains.push_back(
        &ops.kinds[static_cast<std::size_t>(model.layers[static_cast<std::size_t>(stage.first_layer + i)])]);
  for (std::int64_t i = 0; i < stage.mtp_layers; ++i) {
    chains.push_back(&ops.mtp_extra);
    chains.push_back(&ops.kinds[static_cast<std::size_t>(model.mtp_kind)]);
  }
  if (stage.loss) chains.push_back(&ops.head);
  return chains;
}

} // namespace tessella
