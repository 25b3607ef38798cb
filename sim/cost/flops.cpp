#include "sim/cost/flops.h"

#include <algorithm>

namespace tessella {
namespace {

constexpr double kTraining = 3.0 * 2.0; // forward, input gradient, weight gradient; multiply and add
constexpr double kForward = 2.0;

double d(std::int64_t x) {
  return static_cast<double>(x);
}

// Multiply-adds per token of a layer's parts; the factor 2 or 6 comes last.
struct LayerMacs {
  double attention_linear = 0.0;
  double mla_up = 0.0; // part of attention_linear that mla_up_proj recomputes
  double attention_core = 0.0;
  double dense_ffn = 0.0;
  double routed = 0.0;
  double shared = 0.0;
};

// Keys a query sees, averaged over the sequence.
double visible_keys(std::int64_t seq, const std::optional<std::int64_t>& window, FlopsConvention convention) {
  const double s = d(seq);
  if (convention == FlopsConvention::full_attention) return window ? std::min(d(*window), s) : s;
  if (!window || *window >= seq) return s / 2.0;
  const double w = d(*window);
  return w - w * (w - 1.0) / (2.0 * s); // early queries see fewer than w keys
}

void add(LayerMacs& m, double h, const GroupedQueryAttention& a, std::int64_t seq, FlopsConvention convention) {
  const double q = d(a.heads * a.head_dim);
  const double kv = d(a.kv_heads * a.head_dim);
  m.attention_linear = h * (q * (a.output_gate ? 2.0 : 1.0) + 2.0 * kv) + q * h;
  m.attention_core = 2.0 * q * visible_keys(seq, a.window, convention);
}

void add(LayerMacs& m, double h, const MultiLatentAttention& a, std::int64_t seq, FlopsConvention convention) {
  const double heads = d(a.heads);
  const double qk = d(a.qk_nope_head_dim + a.qk_rope_head_dim);
  const double kl = d(a.kv_lora_rank);
  const double v = d(a.v_head_dim);
  double q_down = 0.0;
  double q_up = h * heads * qk;
  if (a.q_lora_rank) {
    q_down = d(*a.q_lora_rank) * (h + 1.0); // + 1: the norm, as Megatron-LM counts it
    q_up = d(*a.q_lora_rank) * heads * qk;
  }
  const double kv_up = kl * heads * (d(a.qk_nope_head_dim) + v);
  m.mla_up = (a.q_lora_rank ? q_up : 0.0) + kv_up;
  m.attention_linear = q_down + q_up + kl * (h + 1.0) + kv_up + h * d(a.qk_rope_head_dim) + heads * v * h;
  m.attention_core = heads * (qk + v) * visible_keys(seq, std::nullopt, convention);
}

// Linear in the sequence: the state update counts as four d_v x d_v products per value head.
void add(LayerMacs& m, double h, const GatedDeltaNet& a, std::int64_t, FlopsConvention) {
  const double q = d(a.key_heads * a.key_head_dim);
  const double u = d(a.value_heads * a.value_head_dim);
  const double heads = d(a.value_heads);
  const double v = d(a.value_head_dim);
  m.attention_linear =
      h * (2.0 * q + 2.0 * u + 2.0 * heads) + d(a.conv_kernel) * (2.0 * q + u) + 4.0 * heads * v * v + h * u;
}

// Linear in the sequence. The scan is 7 d_inner N FLOPs per token in Megatron-LM's count, whatever the chunk; the
// convolution is not counted.
void add(LayerMacs& m, double h, const Mamba2& a, std::int64_t, FlopsConvention) {
  const double inner = d(a.inner_size());
  m.attention_linear = h * d(a.in_proj_size()) + 3.5 * inner * d(a.ssm_state_size) + inner * h;
}

void add(LayerMacs&, double, const NoAttention&, std::int64_t, FlopsConvention) {}

void add(LayerMacs&, double, const NoFfn&) {}

void add(LayerMacs& m, double h, const DenseFfn& f) {
  m.dense_ffn = (f.gated ? 3.0 : 2.0) * h * d(f.ffn_hidden_size);
}

void add(LayerMacs& m, double h, const MoeFfn& f) {
  const double matrices = f.gated ? 3.0 : 2.0;
  const double in = f.moe_latent_size > 0 ? d(f.moe_latent_size) : h;
  // Into the latent width and back, once per token.
  m.routed = matrices * in * d(f.moe_ffn_hidden_size) * d(f.router_topk) + 2.0 * h * d(f.moe_latent_size);
  m.shared = matrices * h * d(f.shared_ffn_hidden_size);
}

LayerMacs layer_macs(std::int64_t hidden_size, const LayerKind& kind, std::int64_t seq, FlopsConvention convention) {
  const double h = d(hidden_size);
  LayerMacs m;
  std::visit([&](const auto& a) { add(m, h, a, seq, convention); }, kind.attention);
  std::visit([&](const auto& f) { add(m, h, f); }, kind.ffn);
  return m;
}

double recomputed_macs(const LayerMacs& m, const Recompute& r) {
  if (r.granularity == RecomputeGranularity::full)
    return m.attention_linear + m.attention_core + m.dense_ffn + m.routed + m.shared;
  double macs = 0.0;
  if (r.has(RecomputeModule::core_attn)) macs += m.attention_core;
  if (r.has(RecomputeModule::mla_up_proj)) macs += m.mla_up;
  if (r.has(RecomputeModule::mlp)) macs += m.dense_ffn;
  if (r.has(RecomputeModule::moe))
    macs += m.routed + m.shared;
  else if (r.has(RecomputeModule::shared_experts))
    macs += m.shared;
  return macs;
}

} // namespace

FlopsBreakdown layer_flops_per_token(std::int64_t hidden_size, const LayerKind& kind, std::int64_t seq_length,
                                     FlopsConvention convention) {
  const LayerMacs m = layer_macs(hidden_size, kind, seq_length, convention);
  FlopsBreakdown f;
  f.mlp = kTraining * (m.dense_ffn + m.routed + m.shared);
  f.attention_linear = kTraining * m.attention_linear;
  f.attention_core = kTraining * m.attention_core;
  return f;
}

FlopsBreakdown model_flops_per_token(const Model& model, std::int64_t seq_length, FlopsConvention convention) {
  const double h = d(model.hidden_size);
  FlopsBreakdown sum;
  const auto add_layer = [&](const LayerKind& kind) {
    const FlopsBreakdown f = layer_flops_per_token(model.hidden_size, kind, seq_length, convention);
    sum.mlp += f.mlp;
    sum.attention_linear += f.attention_linear;
    sum.attention_core += f.attention_core;
  };
  for (std::int64_t i = 0; i < model.num_layers(); ++i) add_layer(model.layer(i));
  for (std::int64_t i = 0; i < model.mtp_num_layers; ++i) add_layer(model.mtp_layer());
  sum.mtp = kTraining * d(model.mtp_num_layers) * (2.0 * h * h + 3.0 * h);
  sum.logits = kTraining * h * d(model.vocab_size) * d(1 + model.mtp_num_layers);
  return sum;
}

double recompute_flops_per_token(const Model& model, std::int64_t seq_length, FlopsConvention convention,
                                 const Recompute& recompute) {
  double macs = 0.0;
  const auto add_layer = [&](const LayerKind& kind) {
    macs += recomputed_macs(layer_macs(model.hidden_size, kind, seq_length, convention), recompute);
  };
  for (std::int64_t i = 0; i < model.num_layers(); ++i) add_layer(model.layer(i));
  for (std::int64_t i = 0; i < model.mtp_num_layers; ++i) add_layer(model.mtp_layer());
  return kForward * macs;
}

Flops model_flops(const Model& model, const Batch& batch, FlopsConvention convention) {
  const double tokens = d(batch.global_batch_size) * d(batch.seq_length);
  return Flops{model_flops_per_token(model, batch.seq_length, convention).total() * tokens};
}

Flops hardware_flops(const Model& model, const Batch& batch, FlopsConvention convention, const Recompute& recompute) {
  const double tokens = d(batch.global_batch_size) * d(batch.seq_length);
  return model_flops(model, batch, convention) +
         Flops{recompute_flops_per_token(model, batch.seq_length, convention, recompute) * tokens};
}

} // namespace tessella
