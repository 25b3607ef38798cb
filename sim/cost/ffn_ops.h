// A gated or plain MLP over tensor parallelism: the FFN of a dense layer, or the shared expert of an MoE layer.
#pragma once

#include <cstdint>
#include <string>

#include "sim/cost/layer_context.h"

namespace tessella {

struct MlpSpec {
  std::string section;    // "ffn" or "shared"
  std::string prefix;     // of kernel names: "" or "shared_"
  std::int64_t width = 0; // whole, before TP
  bool gated = true;
};

// HBM traffic of the activation per element of its output: gated reads two inputs. bf16.
double activation_bytes(bool gated, bool backward, double elements);

// The gather of the input, fc1, activation, fc2, the reduction of the output.
void mlp_forward(ChainBuilder& b, const LayerContext& c, Role role, const MlpSpec& mlp);
void mlp_backward(ChainBuilder& b, const LayerContext& c, Role role, const MlpSpec& mlp);
void mlp_wgrad(ChainBuilder& b, const LayerContext& c, Role role, const MlpSpec& mlp);

// norm_2 (role attention), the FFN and the second residual (role experts) of a dense layer.
void dense_forward(ChainBuilder& b, const LayerContext& c, const DenseFfn& ffn);
// With what is recomputed; ends with the gradient after the first residual.
void dense_backward(ChainBuilder& b, const LayerContext& c, const DenseFfn& ffn);
void dense_wgrad(ChainBuilder& b, const LayerContext& c, const DenseFfn& ffn);

// The second norm's backward and the sum of the two gradients that meet at the first residual, role attention.
void norm_2_backward(ChainBuilder& b, const LayerContext& c);

} // namespace tessella
