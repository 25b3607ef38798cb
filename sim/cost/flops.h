// Model FLOPs: one function for predictions and for reading other people's logs.
//
// Megatron-LM's convention (num_floating_point_operations; layer_costs section 9.1). 1 multiply-add = 2; forward +
// input gradient + weight gradient = 3 forwards; only the router's top-k experts count. Counted: attention projections,
// the two rank-sized MLA norm terms, Gated DeltaNet with its convolution, Mamba-2 with 7 d_inner N for its scan, core
// attention, dense, routed (with the projections of latent experts) and shared FFN,
// MTP blocks with their eh_proj and norms, and one logits GEMM for the model and each MTP layer. Not counted: router,
// shared gate, other norms, softmax, embedding, rope, recompute.
//   causal          half of core attention; a sliding window of W < s sees W - W(W-1)/(2s) keys on average: no half
//   full_attention  all s keys, or min(W, s)
// Every function is O(layers) or O(1) and never fails. Say the convention next to every number: name(FlopsConvention).
#pragma once

#include <cstdint>

#include "sim/base/units.h"
#include "sim/domain/model.h"
#include "sim/domain/scenario.h"

namespace tessella {

// Training FLOPs per token (forward and backward), by component. The MTP block's layer counts in the first three.
struct FlopsBreakdown {
  double mlp = 0.0;
  double attention_linear = 0.0;
  double attention_core = 0.0;
  double mtp = 0.0; // eh_proj and norms
  double logits = 0.0;
  double total() const { return mlp + attention_linear + attention_core + mtp + logits; }
  bool operator==(const FlopsBreakdown&) const = default;
};

FlopsBreakdown layer_flops_per_token(std::int64_t hidden_size, const LayerKind& kind, std::int64_t seq_length,
                                     FlopsConvention convention);
FlopsBreakdown model_flops_per_token(const Model& model, std::int64_t seq_length, FlopsConvention convention);

// Forward work that runs a second time. Full: every layer, MTP layers included. Selective: core_attn, mla_up_proj, mlp,
// moe (routed and shared experts) and shared_experts; moe_act and layernorm recompute no GEMM. The recomputation inside
// FlashAttention's backward is the kernel's business and not counted.
double recompute_flops_per_token(const Model& model, std::int64_t seq_length, FlopsConvention convention,
                                 const Recompute& recompute);

// One step of the whole job.
Flops model_flops(const Model& model, const Batch& batch, FlopsConvention convention);
// What HFU counts: model FLOPs and recompute.
Flops hardware_flops(const Model& model, const Batch& batch, FlopsConvention convention, const Recompute& recompute);

} // namespace tessella
