#include "sim/cost/activation.h"

#include <algorithm>

namespace tessella {
namespace {

using Tensors = std::vector<KeptTensor>;
using M = RecomputeModule;

double d(std::int64_t x) {
  return static_cast<double>(x);
}

// The recurring factors of section 8.3.
struct Sizes {
  double h;
  double n;    // tokens of the TP group
  double n_sp; // tokens of one rank where the sequence is split
  double tp;   // degree
  double q;    // bytes of a saved GEMM input
  double n_tp; // n / TP, for tensors split over heads or width
};

Sizes sizes(std::int64_t hidden, const ActivationShape& s) {
  const double n = d(s.tokens);
  const double tp = d(s.tp);
  return {d(hidden), n, s.sequence_parallel ? n / tp : n, tp, s.precision == Precision::fp8 ? 1.0 : 2.0, n / tp};
}

void keep(Tensors& t, std::string name, double bytes, std::vector<M> dropped_by = {}) {
  t.push_back({std::move(name), bytes, std::move(dropped_by), bytes});
}

void keep_attention(Tensors& t, const Sizes& z, const GroupedQueryAttention& a) {
  const double q = d(a.heads * a.head_dim) * z.n_tp;
  // With fewer KV heads than TP ranks each rank still attends to one whole head.
  const double kv = std::max(d(a.kv_heads) / z.tp, 1.0) * d(a.head_dim) * z.n;
  if (a.qk_norm) {
    keep(t, "q_norm_in", 2.0 * q);
    keep(t, "k_norm_in", 2.0 * kv);
  }
  keep(t, "q", 2.0 * q);
  keep(t, "k", 2.0 * kv);
  keep(t, "v", 2.0 * kv);
  keep(t, "attn_out", 2.0 * q);
  keep(t, "softmax_stats", 4.0 * d(a.heads) * z.n_tp, {M::core_attn});
  if (a.output_gate) {
    keep(t, "gate", 2.0 * q);
    keep(t, "gated_attn_out", z.q * q);
  }
}

void keep_attention(Tensors& t, const Sizes& z, const MultiLatentAttention& a) {
  const double heads = d(a.heads) * z.n_tp;
  const double qk = d(a.qk_nope_head_dim + a.qk_rope_head_dim);
  if (a.q_lora_rank) {
    keep(t, "q_down_out", 2.0 * z.n_sp * d(*a.q_lora_rank));
    keep(t, "q_norm_out", z.q * z.n_sp * d(*a.q_lora_rank));
  }
  keep(t, "kv_compressed", 2.0 * z.n_sp * d(a.kv_lora_rank));
  keep(t, "kv_norm_out", z.q * z.n * d(a.kv_lora_rank));
  keep(t, "q", 2.0 * heads * qk, {M::mla_up_proj});
  keep(t, "k", 2.0 * heads * qk, {M::mla_up_proj});
  keep(t, "v", 2.0 * heads * d(a.v_head_dim), {M::mla_up_proj});
  keep(t, "attn_out", 2.0 * heads * d(a.v_head_dim));
  keep(t, "softmax_stats", 4.0 * heads, {M::core_attn});
}

void keep_attention(Tensors& t, const Sizes& z, const GatedDeltaNet& a) {
  constexpr double kChunk = 64.0;
  const double q = d(a.key_heads * a.key_head_dim) * z.n_tp;
  const double u = d(a.value_heads * a.value_head_dim) * z.n_tp;
  const double heads = d(a.value_heads) * z.n_tp;
  keep(t, "gdn_conv_in", 2.0 * (2.0 * q + u));
  keep(t, "gdn_normed_qk", 2.0 * 2.0 * q);
  if (a.value_heads > a.key_heads) keep(t, "gdn_repeated_qk", 2.0 * 2.0 * heads * d(a.key_head_dim));
  keep(t, "gdn_v", 2.0 * u);
  keep(t, "gdn_gate", 2.0 * u);
  keep(t, "gdn_decay", 4.0 * heads);
  keep(t, "gdn_alpha_beta", 2.0 * 2.0 * heads);
  keep(t, "gdn_chunk_matrix", 2.0 * kChunk * heads);
  keep(t, "gdn_core_out", 2.0 * u);
  keep(t, "gdn_norm_out", 2.0 * u);
  keep(t, "gdn_gated_out", z.q * u);
}

// The scan's backward starts from the input projection's output and the gated output; all between is computed again.
void keep_attention(Tensors& t, const Sizes& z, const Mamba2& a) {
  const double inner = d(a.inner_size()) * z.n_tp;
  keep(t, "mamba_in_proj_out", 2.0 * d(a.in_proj_size()) * z.n_tp);
  keep(t, "mamba_scan_out", 2.0 * inner);
  keep(t, "mamba_norm_in", 2.0 * inner);
  keep(t, "mamba_norm_out", z.q * inner);
}

void keep_ffn(Tensors& t, const Sizes& z, const DenseFfn& f, const ActivationShape&) {
  const double width = d(f.ffn_hidden_size) * z.n_tp;
  keep(t, "mlp_norm_in", 2.0 * z.n_sp * z.h);
  keep(t, "mlp_in", z.q * z.n_sp * z.h, {M::layernorm});
  keep(t, "fc1_out", 2.0 * (f.gated ? 2.0 : 1.0) * width, {M::mlp});
  keep(t, "act_out", z.q * width, {M::mlp});
}

void keep_ffn(Tensors& t, const Sizes& z, const MoeFfn& f, const ActivationShape& s) {
  const double up = f.gated ? 2.0 : 1.0;
  keep(t, "mlp_norm_in", 2.0 * z.n_sp * z.h);
  // A shared expert gathers the tokens of its TP group, and the router reads the same copy; without one the router
  // reads its own tokens. Recomputing the norm frees its bf16 output.
  const double tokens = f.shared_ffn_hidden_size > 0 ? z.n : z.n_sp;
  t.push_back({"shared_or_router_input", z.q * tokens * z.h, {M::layernorm}, 2.0 * z.n_sp * z.h});
  keep(t, "router_probs", 2.0 * z.n_sp * d(f.num_experts), {M::moe});
  keep(t, "permute_row_map", 8.0 * z.n_sp * d(f.num_experts), {M::moe});
  if (f.shared_ffn_hidden_size > 0) {
    const double width = d(f.shared_ffn_hidden_size) * z.n_tp;
    keep(t, "shared_fc1_out", z.q * up * width, {M::moe, M::shared_experts});
    keep(t, "shared_act_out", z.q * width, {M::moe, M::shared_experts, M::moe_act});
  }
  // ETP multiplies the tokens of a rank and divides the width.
  const double received = z.n_sp * d(f.router_topk) * s.hot_load;
  const double width = received * d(f.moe_ffn_hidden_size);
  const double in = f.moe_latent_size > 0 ? d(f.moe_latent_size) : z.h;
  keep(t, "dispatched_permuted_in", z.q * received * d(s.etp) * in, {M::moe});
  keep(t, "expert_fc1_out", 2.0 * up * width, {M::moe});
  keep(t, "expert_act_out", 2.0 * width, {M::moe, M::moe_act});
  if (!s.probs_before_fc2) keep(t, "combine_unpermute_in", 2.0 * received * in, {M::moe});
  if (f.moe_latent_size > 0) keep(t, "latent_combined", z.q * z.n_sp * in, {M::moe}); // input of the projection back
}

void keep_ffn(Tensors&, const Sizes&, const NoFfn&, const ActivationShape&) {}

// The attention half with its norm; the other half begins with its own.
template <class A>
void keep_half(Tensors& t, const Sizes& z, const A& attention) {
  keep(t, "layer_input", 2.0 * z.n_sp * z.h);
  keep(t, "input_norm_out", z.q * z.n_sp * z.h, {M::layernorm});
  keep_attention(t, z, attention);
}

void keep_half(Tensors&, const Sizes&, const NoAttention&) {}

bool dropped(const KeptTensor& tensor, const Recompute& recompute) {
  return std::any_of(tensor.dropped_by.begin(), tensor.dropped_by.end(), [&](M m) { return recompute.has(m); });
}

} // namespace

std::vector<KeptTensor> kept_tensors(std::int64_t hidden_size, const LayerKind& kind, const ActivationShape& shape) {
  const Sizes z = sizes(hidden_size, shape);
  Tensors t;
  std::visit([&](const auto& a) { keep_half(t, z, a); }, kind.attention);
  std::visit([&](const auto& f) { keep_ffn(t, z, f, shape); }, kind.ffn);
  return t;
}

double kept_bytes(std::int64_t hidden_size, const LayerKind& kind, const ActivationShape& shape,
                  const Recompute& recompute) {
  const Tensors tensors = kept_tensors(hidden_size, kind, shape);
  if (recompute.granularity == RecomputeGranularity::full) return tensors.front().bytes; // the layer input
  double sum = 0.0;
  for (const KeptTensor& t : tensors) sum += t.bytes - (dropped(t, recompute) ? t.dropped_bytes : 0.0);
  return sum;
}

StageActivation stage_activation(const Model& model, const StageContent& stage, const ActivationShape& shape,
                                 const Recompute& recompute) {
  const Sizes z = sizes(model.hidden_size, shape);
  StageActivation a;
  for (std::int32_t i = 0; i < stage.num_layers; ++i)
    a.kept += kept_bytes(model.hidden_size, model.layer(stage.first_layer + i), shape, recompute);
  if (stage.embedding) a.kept += 8.0 * z.n; // token ids, int64
  if (stage.mtp_layers > 0) {
    // Both norms' inputs and eh_proj's input (their concatenated outputs), then the layer and its final norm's input.
    const double extra = (2.0 * 2.0 + z.q * 2.0 + 2.0) * z.n_sp * z.h + 8.0 * z.n;
    a.kept += stage.mtp_layers * (kept_bytes(model.hidden_size, model.mtp_layer(), shape, recompute) + extra);
  }
  const double losses = (stage.loss ? 1.0 : 0.0) + stage.mtp_layers;
  if (stage.loss) a.kept += 2.0 * z.n_sp * z.h; // final norm input
  a.kept += losses * 2.0 * z.n_sp * z.h;        // output projection input
  a.loss = losses * (2.0 + 4.0) * z.n_tp * d(model.vocab_size);
  return a;
}

double korthikanti_layer_bytes(const KorthikantiShape& k, KorthikantiForm form) {
  const double sbh = d(k.seq) * d(k.micro_batch) * d(k.hidden);
  const double scores = 5.0 * d(k.heads) * d(k.seq) / d(k.hidden);
  const double t = d(k.tp);
  switch (form) {
  case KorthikantiForm::tensor_parallel:
    return sbh * (10.0 + 24.0 / t + scores / t);
  case KorthikantiForm::sequence_parallel:
    return sbh * (34.0 + scores) / t;
  case KorthikantiForm::selective:
    return sbh * 34.0 / t;
  case KorthikantiForm::full:
    return 2.0 * sbh;
  case KorthikantiForm::full_sequence_parallel:
    return 2.0 * sbh / t;
  }
  TSL_CHECK(false);
}

} // namespace tessella
