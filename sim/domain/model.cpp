#include "sim/domain/model.h"

#include <algorithm>

namespace tessella {

const MoeFfn* moe_of(const LayerKind& kind) {
  return std::get_if<MoeFfn>(&kind.ffn);
}

std::int64_t expert_input_size(std::int64_t hidden_size, const MoeFfn& moe) {
  return moe.moe_latent_size > 0 ? moe.moe_latent_size : hidden_size;
}

bool Model::has_moe() const {
  return std::any_of(layers.begin(), layers.end(),
                     [this](std::int32_t k) { return moe_of(kinds[static_cast<std::size_t>(k)]) != nullptr; });
}

} // namespace tessella
