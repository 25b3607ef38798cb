// What one micro-batch keeps on one rank from its forward to its backward, tensor by tensor.
//
// The list follows layer_costs section 8.3 (flash attention, sequence parallelism, balanced routing; the tensors of the
// Megatron-MoE-ModelZoo memory estimator), and goes beyond it where a model has more than that estimator knows: inputs
// of q/k norms, output gates, sliding windows (no change: flash attention keeps no scores), dense layers, Gated
// DeltaNet, Mamba-2, layers without an FFN or without attention, latent experts.
//
// Gated DeltaNet, derived from Megatron-LM's gated_delta_net.py and the tensors that flash-linear-attention's
// chunk_gated_delta_rule saves (it recomputes w, u and the chunk states in backward), per token and with q = d_k H_k,
// u = d_v H_v, everything / TP: convolution input 2(2q + u); normed q and k before the repetition to value heads
// 2 * 2q; repeated q and k 2 * 2 d_k H_v; v 2u; gate 2u; decay 4 H_v; alpha and beta 2 * 2 H_v; the 64 x 64 chunk
// matrix 2 * 64 H_v; core output 2u; its norm 2u; the gated product (output projection input) e u.
//
// Mamba-2, from what mamba_ssm's mamba_split_conv1d_scan_combined saves (its backward runs convolution and chunk states
// again): the input projection's output, the scan's output before and after the gate, the norm's output. Latent experts
// keep tokens in the latent width, and what they combine to as the input of the projection back.
//
// Bytes are doubles: they are sums of products that a hostile input can push past 2^63; memory.h rounds once.
// Complexity: O(tensors), below 40.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/domain/model.h"
#include "sim/domain/plan.h"
#include "sim/domain/scenario.h"

namespace tessella {

struct ActivationShape {
  std::int64_t tokens = 0; // n: of one micro-batch, as a TP group sees them (b s / CP)
  std::int64_t tp = 1;
  std::int64_t etp = 1;
  bool sequence_parallel = true;
  Precision precision = Precision::bf16;
  // Router probabilities scale the activation before fc2 (Megatron-Core since 0.12), so unpermute keeps nothing.
  bool probs_before_fc2 = true;
  double hot_load = 1.0; // tokens of the hottest expert rank over the mean
};

struct KeptTensor {
  std::string name;
  double bytes = 0.0;
  std::vector<RecomputeModule> dropped_by; // any of these frees `dropped_bytes` of it
  double dropped_bytes = 0.0;
};

std::vector<KeptTensor> kept_tensors(std::int64_t hidden_size, const LayerKind& kind, const ActivationShape& shape);

// One layer, after recomputation. Full recomputation keeps the layer input.
double kept_bytes(std::int64_t hidden_size, const LayerKind& kind, const ActivationShape& shape,
                  const Recompute& recompute);

// One micro-batch of one stage.
struct StageActivation {
  double kept = 0.0; // until the weight gradient
  double loss = 0.0; // logits: bf16 and the fp32 softmax, one pair per loss; freed by the input gradient
  bool operator==(const StageActivation&) const = default;
};
StageActivation stage_activation(const Model& model, const StageContent& stage, const ActivationShape& shape,
                                 const Recompute& recompute);

// Korthikanti et al., arXiv 2205.05198, Table 2: one dense layer without flash attention (fp16, dropout, f = 4h),
// bytes. The first stage of 1F1B holds all L layers' worth. For comparisons with runs that materialise the scores; the
// tensor list above never does.
enum class KorthikantiForm { tensor_parallel, sequence_parallel, selective, full, full_sequence_parallel };
struct KorthikantiShape {
  std::int64_t seq = 0;
  std::int64_t micro_batch = 1;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t tp = 1;
};
double korthikanti_layer_bytes(const KorthikantiShape& shape, KorthikantiForm form);

} // namespace tessella
