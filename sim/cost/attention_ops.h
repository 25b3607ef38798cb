// The attention half of a layer, from its first norm to its residual: GQA/MHA, MLA, Gated DeltaNet and Mamba-2 as one
// plan of projections and kernels, emitted forward, backward and for weight gradients (layer_costs, sections 4 to 7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/cost/layer_context.h"

namespace tessella {

// A bandwidth-bound kernel with its traffic in each direction.
struct Streaming {
  std::string name;
  StreamKernel forward = StreamKernel::copy;
  StreamKernel backward = StreamKernel::copy;
  double forward_bytes = 0.0;
  double backward_bytes = 0.0;
};

struct SoftmaxCore {
  AttentionShape shape;      // of this rank's heads over the whole sequence, as if CP were 1
  std::int64_t kv_width = 0; // elements of keys and values per token on this rank
};

// A kernel that carries a state along the sequence: its cost does not grow with the square of it.
struct StateCore {
  std::variant<GdnShape, SsdShape> shape; // of this rank's heads over the whole sequence
  std::int64_t in_width = 0;              // elements per token that context parallelism exchanges before the kernel ...
  std::int64_t out_width = 0;             // ... and after it
};

// What a rank runs, in order.
struct AttentionPlan {
  std::vector<Projection> down;        // on the n_sp tokens of the rank, weights duplicated over TP (MLA)
  std::vector<Streaming> latent_norms; // of what `down` makes
  std::int64_t gather_width = 0;       // elements per token gathered over TP
  std::vector<Projection> up;          // column-parallel; MLA: the up-projections
  std::vector<Streaming> before_core;  // rope, q/k norms, convolution
  std::optional<SoftmaxCore> softmax;  // exactly one of these two
  std::optional<StateCore> state;
  std::vector<Streaming> after_core; // output gate, gated norm
  Projection out;                    // row-parallel
  bool latent = false;               // MLA: mla_up_proj recompute applies
};

// Nothing for a layer without attention.
std::optional<AttentionPlan> attention_plan(const LayerContext& c, const Attention& attention);

// From norm_1 to the first residual, role attention.
void attention_forward(ChainBuilder& b, const LayerContext& c, const AttentionPlan& plan);
// From the gradient after the first residual to that of the layer input, with what is recomputed.
void attention_backward(ChainBuilder& b, const LayerContext& c, const AttentionPlan& plan);
// Role wgrad_attention.
void attention_wgrad(ChainBuilder& b, const LayerContext& c, const AttentionPlan& plan);

} // namespace tessella
