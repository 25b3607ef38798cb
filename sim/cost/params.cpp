#include "sim/cost/params.h"

namespace tessella {
namespace {

constexpr std::int64_t div_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

ParamCount of(std::int64_t h, const GroupedQueryAttention& a) {
  const std::int64_t q = a.heads * a.head_dim;
  const std::int64_t qkv = q * (a.output_gate ? 2 : 1) + 2 * a.kv_heads * a.head_dim;
  ParamCount p;
  p.tp_sharded = h * qkv + q * h + (a.bias ? qkv : 0) + (a.sinks ? a.heads : 0);
  p.replicated = (a.output_bias ? h : 0) + (a.qk_norm ? 2 * a.head_dim : 0);
  return p;
}

// Megatron-LM repeats both down projections on every TP rank.
ParamCount of(std::int64_t h, const MultiLatentAttention& a) {
  const std::int64_t qk = a.qk_nope_head_dim + a.qk_rope_head_dim;
  const std::int64_t ql = a.q_lora_rank.value_or(0);
  ParamCount p;
  p.tp_sharded = (a.q_lora_rank ? ql : h) * a.heads * qk;
  p.tp_sharded += a.kv_lora_rank * a.heads * (a.qk_nope_head_dim + a.v_head_dim) + a.heads * a.v_head_dim * h;
  p.replicated = h * ql + ql + h * (a.kv_lora_rank + a.qk_rope_head_dim) + a.kv_lora_rank;
  return p;
}

ParamCount of(std::int64_t h, const GatedDeltaNet& a) {
  const std::int64_t q = a.key_heads * a.key_head_dim;
  const std::int64_t u = a.value_heads * a.value_head_dim;
  const std::int64_t in_proj = h * (2 * q + 2 * u + 2 * a.value_heads);
  const std::int64_t conv = a.conv_kernel * (2 * q + u);
  ParamCount p;
  p.tp_sharded = in_proj + conv + 2 * a.value_heads + h * u; // A_log and dt_bias: one each per value head
  p.replicated = a.value_head_dim;                           // the output norm, shared by the heads
  return p;
}

// The convolution has a bias; A_log, D and dt_bias: one each per head. Norm and convolution are cut with the heads.
ParamCount of(std::int64_t h, const Mamba2& a) {
  const std::int64_t inner = a.inner_size();
  const std::int64_t conv = (a.conv_kernel + 1) * a.conv_size();
  return {h * a.in_proj_size() + conv + 3 * a.mamba_num_heads + inner + inner * h, 0, 0};
}

ParamCount of(std::int64_t, const NoAttention&) {
  return {};
}

ParamCount of(std::int64_t, const NoFfn&) {
  return {};
}

ParamCount of(std::int64_t h, const DenseFfn& f) {
  return {(f.gated ? 3 : 2) * h * f.ffn_hidden_size, 0, 0};
}

std::int64_t expert_params(std::int64_t h, const MoeFfn& f) {
  const std::int64_t up = (f.gated ? 2 : 1) * f.moe_ffn_hidden_size;
  const std::int64_t in = expert_input_size(h, f);
  return in * up + f.moe_ffn_hidden_size * in + (f.expert_bias ? up + in : 0);
}

ParamCount of(std::int64_t h, const MoeFfn& f) {
  ParamCount p;
  p.tp_sharded = (f.gated ? 3 : 2) * h * f.shared_ffn_hidden_size;
  p.replicated =
      h * f.num_experts + (f.router_bias ? f.num_experts : 0) + (f.shared_gate ? h : 0) + 2 * h * f.moe_latent_size;
  p.routed = f.num_experts * expert_params(h, f);
  return p;
}

} // namespace

ParamCount& ParamCount::operator+=(const ParamCount& o) {
  tp_sharded += o.tp_sharded;
  replicated += o.replicated;
  routed += o.routed;
  return *this;
}

ParamCount attention_params(std::int64_t hidden_size, const Attention& attention) {
  return std::visit([&](const auto& a) { return of(hidden_size, a); }, attention);
}

ParamCount ffn_params(std::int64_t hidden_size, const Ffn& ffn) {
  return std::visit([&](const auto& f) { return of(hidden_size, f); }, ffn);
}

ParamCount layer_params(std::int64_t hidden_size, const LayerKind& kind) {
  ParamCount p = attention_params(hidden_size, kind.attention);
  p += ffn_params(hidden_size, kind.ffn);
  const bool attention = !std::holds_alternative<NoAttention>(kind.attention);
  const bool ffn = !std::holds_alternative<NoFfn>(kind.ffn);
  p.replicated += (attention ? hidden_size : 0) + (ffn ? hidden_size : 0);
  return p;
}

std::int64_t idle_params(std::int64_t hidden_size, const LayerKind& kind) {
  const MoeFfn* moe = moe_of(kind);
  return moe ? (moe->num_experts - moe->router_topk) * expert_params(hidden_size, *moe) : 0;
}

ParamCount vocabulary_params(const Model& model) {
  return {model.vocab_size * model.hidden_size, 0, 0};
}

ParamCount mtp_params(const Model& model) {
  ParamCount p = layer_params(model.hidden_size, model.mtp_layer());
  p.tp_sharded += 2 * model.hidden_size * model.hidden_size;
  p.replicated += 3 * model.hidden_size;
  return p;
}

ModelSize model_size(const Model& model) {
  const std::int64_t h = model.hidden_size;
  ModelSize size;
  size.total = vocabulary_params(model).total() * (model.tie_embeddings ? 1 : 2) + h;
  size.active = size.total;
  for (std::int64_t i = 0; i < model.num_layers(); ++i) {
    const std::int64_t layer = layer_params(h, model.layer(i)).total();
    size.total += layer;
    size.active += layer - idle_params(h, model.layer(i));
  }
  if (model.mtp_num_layers > 0)
    size.mtp = (model.mtp_use_repeated_layer ? 1 : model.mtp_num_layers) * mtp_params(model).total();
  return size;
}

RankParams rank_params(const Model& model, const Partition& partition, std::span<const std::int32_t> stages,
                       const Parallelism& p) {
  ParamCount sum;
  bool embedding = false;
  bool head = false;
  for (const std::int32_t s : stages) {
    const StageContent& stage = partition.stages[static_cast<std::size_t>(s)];
    for (std::int32_t i = 0; i < stage.num_layers; ++i)
      sum += layer_params(model.hidden_size, model.layer(stage.first_layer + i));
    if (stage.mtp_layers > 0) sum += mtp_params(model) * (model.mtp_use_repeated_layer ? 1 : stage.mtp_layers);
    if (stage.loss) sum.replicated += model.hidden_size; // final norm
    embedding = embedding || stage.embedding || stage.mtp_layers > 0;
    head = head || stage.loss || stage.mtp_layers > 0;
  }
  const std::int64_t matrices = embedding && head && !model.tie_embeddings ? 2 : (embedding || head ? 1 : 0);

  RankParams rank;
  rank.vocabulary = div_up(vocabulary_params(model).tp_sharded * matrices, p.tp);
  rank.dense = div_up(sum.tp_sharded, p.tp) + sum.replicated + rank.vocabulary;
  rank.expert = div_up(sum.routed, p.ep * p.etp);
  return rank;
}

RankParams with_replicas(RankParams rank, std::int64_t replicas, std::int64_t experts_per_rank) {
  if (replicas > 0) rank.replica = rank.expert * replicas / experts_per_rank;
  return rank;
}

} // namespace tessella
