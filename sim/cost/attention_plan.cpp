// The projections and kernels of each kind of attention. FLOPs: layer_costs, section 5.
#include <algorithm>

#include "sim/cost/attention_ops.h"

namespace tessella {
namespace {

// `passes` over rows x width bf16 elements.
double passes(double count, std::int64_t rows, std::int64_t width) {
  return count * elements(rows, width) * kBytesBf16;
}

Streaming norm_over(const std::string& name, std::int64_t rows, std::int64_t width) {
  return {name, StreamKernel::norm_fwd, StreamKernel::norm_bwd, passes(2.0, rows, width), passes(3.0, rows, width)};
}

Streaming elementwise(const std::string& name, double forward_bytes, double backward_bytes) {
  return {name, StreamKernel::copy, StreamKernel::copy, forward_bytes, backward_bytes};
}

AttentionShape shape_of(const LayerContext& c, std::int64_t heads, std::int64_t kv_heads, std::int64_t qk_dim,
                        std::int64_t v_dim) {
  AttentionShape s;
  s.batch = c.scenario.batch.micro_batch_size;
  s.seq_q = c.scenario.batch.seq_length;
  s.seq_kv = s.seq_q;
  s.heads = heads;
  s.kv_heads = kv_heads;
  s.qk_head_dim = qk_dim;
  s.v_head_dim = v_dim;
  return s;
}

AttentionPlan plan_of(const LayerContext& c, const GroupedQueryAttention& a) {
  const std::int64_t q = a.heads / c.tp * a.head_dim;
  const std::int64_t kv_heads = std::max<std::int64_t>(1, a.kv_heads / c.tp); // fewer than TP: duplicated
  const std::int64_t kv = kv_heads * a.head_dim;
  AttentionPlan plan;
  plan.gather_width = c.hidden;
  plan.up = {{"qkv", {c.n, c.hidden, (a.output_gate ? 2 : 1) * q + 2 * kv}}};
  if (a.qk_norm) plan.before_core.push_back(norm_over("qk_norm", c.n, q + kv));
  const double rope = passes(2.0, c.n, q + kv); // in place
  plan.before_core.push_back(elementwise("rope", rope, rope));
  plan.softmax = SoftmaxCore{shape_of(c, a.heads / c.tp, kv_heads, a.head_dim, a.head_dim), 2 * kv};
  if (a.window) plan.softmax->shape.window = *a.window;
  if (a.output_gate) plan.after_core.push_back(elementwise("output_gate", passes(3.0, c.n, q), passes(5.0, c.n, q)));
  plan.out = {"out_proj", {c.n, q, c.hidden}};
  return plan;
}

AttentionPlan plan_of(const LayerContext& c, const MultiLatentAttention& a) {
  const std::int64_t heads = a.heads / c.tp;
  const std::int64_t qk_dim = a.qk_nope_head_dim + a.qk_rope_head_dim;
  const std::int64_t kv_latent = a.kv_lora_rank + a.qk_rope_head_dim;
  AttentionPlan plan;
  plan.latent = true;
  // With latent queries only the latents cross the TP group; otherwise q needs the whole hidden state.
  plan.gather_width = a.q_lora_rank.value_or(c.hidden) + kv_latent;
  if (a.q_lora_rank) {
    plan.down.push_back({"q_a", {c.n_sp, c.hidden, *a.q_lora_rank}});
    plan.latent_norms.push_back(norm_over("q_norm", c.n_sp, *a.q_lora_rank));
  }
  plan.down.push_back({"kv_a", {c.n_sp, c.hidden, kv_latent}, !a.q_lora_rank});
  plan.latent_norms.push_back(norm_over("kv_norm", c.n_sp, a.kv_lora_rank));
  plan.up = {{"q_b", {c.n, a.q_lora_rank.value_or(c.hidden), heads * qk_dim}},
             {"kv_b", {c.n, a.kv_lora_rank, heads * (a.qk_nope_head_dim + a.v_head_dim)}}};
  // Rope on q in place; k is joined from its latent part and the shared rope part; v is split off.
  const std::int64_t joined =
      heads * (2 * a.qk_rope_head_dim + a.qk_nope_head_dim + qk_dim + 2 * a.v_head_dim) + a.qk_rope_head_dim;
  plan.before_core.push_back(elementwise("rope_concat", passes(1.0, c.n, joined), passes(1.0, c.n, joined)));
  plan.softmax = SoftmaxCore{shape_of(c, heads, heads, qk_dim, a.v_head_dim), heads * (qk_dim + a.v_head_dim)};
  plan.out = {"out_proj", {c.n, heads * a.v_head_dim, c.hidden}};
  return plan;
}

AttentionPlan plan_of(const LayerContext& c, const GatedDeltaNet& a) {
  const std::int64_t q = a.key_heads / c.tp * a.key_head_dim;
  const std::int64_t u = a.value_heads / c.tp * a.value_head_dim;
  const std::int64_t in = 2 * q + 2 * u + 2 * a.value_heads / c.tp; // q, k, v, gate, and two scalars per head
  AttentionPlan plan;
  plan.gather_width = c.hidden;
  plan.up = {{"in_proj", {c.n, c.hidden, in}}};
  plan.before_core.push_back({"conv", StreamKernel::conv_fwd, StreamKernel::conv_bwd, passes(2.0, c.n, 2 * q + u),
                              passes(3.0, c.n, 2 * q + u)});
  GdnShape shape{c.scenario.batch.micro_batch_size,
                 c.scenario.batch.seq_length,
                 a.key_heads / c.tp,
                 a.value_heads / c.tp,
                 a.key_head_dim,
                 a.value_head_dim};
  // Context parallelism gives each rank some heads of the whole sequence (all-to-all before and after).
  shape.key_heads = std::max<std::int64_t>(1, shape.key_heads / c.cp);
  shape.value_heads = std::max<std::int64_t>(1, shape.value_heads / c.cp);
  plan.state = StateCore{shape, in, u};
  plan.after_core.push_back(
      {"gated_norm", StreamKernel::norm_fwd, StreamKernel::norm_bwd, passes(3.0, c.n, u), passes(5.0, c.n, u)});
  plan.out = {"out_proj", {c.n, u, c.hidden}};
  return plan;
}

// As mamba_ssm's mamba_split_conv1d_scan_combined runs it: one convolution over x, B and C, which the backward pass
// runs again before its own, the scan, the gated norm.
AttentionPlan plan_of(const LayerContext& c, const Mamba2& a) {
  const std::int64_t conv = a.conv_size() / c.tp;
  const std::int64_t inner = a.inner_size() / c.tp;
  const std::int64_t in = a.in_proj_size() / c.tp;
  AttentionPlan plan;
  plan.gather_width = c.hidden;
  plan.up = {{"in_proj", {c.n, c.hidden, in}}};
  plan.before_core.push_back(
      {"conv", StreamKernel::conv_fwd, StreamKernel::conv_bwd, passes(2.0, c.n, conv), passes(5.0, c.n, conv)});
  SsdShape shape{c.scenario.batch.micro_batch_size,
                 c.scenario.batch.seq_length,
                 a.mamba_num_heads / c.tp,
                 a.mamba_head_dim,
                 a.n_groups / c.tp,
                 a.ssm_state_size,
                 a.chunk_size};
  // Context parallelism as for the delta rule: some heads of the whole sequence, and the groups they belong to.
  shape.heads = std::max<std::int64_t>(1, shape.heads / c.cp);
  shape.groups = std::max<std::int64_t>(1, shape.groups / c.cp);
  plan.state = StateCore{shape, in, inner};
  plan.after_core.push_back(
      {"gated_norm", StreamKernel::norm_fwd, StreamKernel::norm_bwd, passes(3.0, c.n, inner), passes(5.0, c.n, inner)});
  plan.out = {"out_proj", {c.n, inner, c.hidden}};
  return plan;
}

} // namespace

std::optional<AttentionPlan> attention_plan(const LayerContext& c, const Attention& attention) {
  struct Planner {
    const LayerContext& c;
    std::optional<AttentionPlan> operator()(const NoAttention&) const { return std::nullopt; }
    std::optional<AttentionPlan> operator()(const GroupedQueryAttention& a) const { return plan_of(c, a); }
    std::optional<AttentionPlan> operator()(const MultiLatentAttention& a) const { return plan_of(c, a); }
    std::optional<AttentionPlan> operator()(const GatedDeltaNet& a) const { return plan_of(c, a); }
    std::optional<AttentionPlan> operator()(const Mamba2& a) const { return plan_of(c, a); }
  };
  return std::visit(Planner{c}, attention);
}

} // namespace tessella
