#include "sim/cost/attention_ops.h"

#include <algorithm>

namespace tessella {
namespace {

OpDetail stream(const LayerContext& c, const Streaming& s, bool backward) {
  return backward ? c.kernels.stream(s.name + "_bwd", s.backward, s.backward_bytes)
                  : c.kernels.stream(s.name, s.forward, s.forward_bytes);
}

// Query-key pairs per head that count as FLOPs: half of the square when causal, less with a window.
double counted_pairs(const AttentionShape& s) {
  const double q = static_cast<double>(s.seq_q);
  const double kv = static_cast<double>(s.seq_kv);
  if (!s.causal) return q * kv;
  const double w = s.window > 0 ? std::min(static_cast<double>(s.window), kv) : kv;
  return q * (w - w * w / (2.0 * kv));
}

// The attention kernels of one rank. With context parallelism a ring of CP steps over two zigzag halves of the
// sequence: the rank's own block (causal), then CP - 1 blocks of which half counts.
std::vector<OpDetail> core_kernels(const LayerContext& c, const SoftmaxCore& core, bool backward) {
  const std::string name = backward ? "core_bwd" : "core";
  AttentionShape s = core.shape;
  if (c.cp == 1) return {c.kernels.attention(name, backward, s, counted_pairs(s))};
  s.seq_q /= c.cp;
  s.seq_kv /= c.cp;
  if (s.window > 0) { // rows see the window only; no more than a block ahead of the rank's own
    s.seq_kv = std::min(core.shape.seq_kv, s.seq_q + s.window);
    return {c.kernels.attention(name, backward, s, counted_pairs(core.shape) / static_cast<double>(c.cp))};
  }
  std::vector<OpDetail> kernels = {c.kernels.attention(name, backward, s, counted_pairs(s))};
  s.causal = false;
  s.seq_q /= 2;
  kernels.resize(static_cast<std::size_t>(c.cp), c.kernels.attention(name, backward, s, counted_pairs(s)));
  return kernels;
}

// The ring exchange of keys and values (backward: and their gradients): each transfer runs under the attention of the
// block at hand; what outlasts it is exposed.
OpDetail ring_exchange(const LayerContext& c, const SoftmaxCore& core, bool backward,
                       const std::vector<OpDetail>& kernels) {
  const double block = elements(c.n, core.kv_width) * kBytesBf16 * (backward ? 2.0 : 1.0);
  OpDetail d = c.comm.collective("cp_kv", Collective::send_recv, GroupKind::cp, block);
  const std::int64_t transfers = c.cp - 1;
  Duration exposed;
  for (std::int64_t i = 0; i < transfers; ++i) {
    const std::size_t step = static_cast<std::size_t>(i);
    const Duration behind =
        step < kernels.size() && kernels.size() > 1 ? kernels[step].duration : Duration{kernels[0].duration.ps / c.cp};
    if (d.duration > behind) exposed += d.duration - behind;
  }
  d.bytes *= static_cast<double>(transfers);
  d.duration = exposed;
  return d;
}

void head_exchange(ChainBuilder& b, const LayerContext& c, std::int64_t width) {
  if (c.cp == 1) return;
  b.collective(OpClass::cp, c.cp * c.tp,
               c.comm.collective("cp_a2a", Collective::all_to_all, GroupKind::cp, elements(c.n, width) * kBytesBf16));
}

OpDetail state_kernel(const LayerContext& c, const char* name, bool backward, const GdnShape& shape) {
  return c.kernels.gdn(name, backward, shape);
}

OpDetail state_kernel(const LayerContext& c, const char* name, bool backward, const SsdShape& shape) {
  return c.kernels.ssd(name, backward, shape);
}

// The softmax core or the one that carries a state, with the exchanges of context parallelism around it.
void core(ChainBuilder& b, const LayerContext& c, const AttentionPlan& plan, bool backward) {
  if (plan.state) {
    const StateCore& g = *plan.state;
    head_exchange(b, c, backward ? g.out_width : g.in_width);
    b.section(Role::attention, "core");
    const char* name = backward ? "core_bwd" : "core";
    b.kernel(std::visit([&](const auto& shape) { return state_kernel(c, name, backward, shape); }, g.shape));
    head_exchange(b, c, backward ? g.in_width : g.out_width);
    return;
  }
  std::vector<OpDetail> kernels = core_kernels(c, *plan.softmax, backward);
  if (c.cp > 1) b.collective(OpClass::cp, c.cp * c.tp, ring_exchange(c, *plan.softmax, backward, kernels));
  b.section(Role::attention, "core");
  for (OpDetail& d : kernels) b.kernel(std::move(d));
}

void up_projections(ChainBuilder& b, const LayerContext& c, const AttentionPlan& plan) {
  for (const Projection& p : plan.up) project_forward(b, c, p);
  for (const Streaming& s : plan.before_core) b.kernel(stream(c, s, false));
}

} // namespace

void attention_forward(ChainBuilder& b, const LayerContext& c, const AttentionPlan& plan) {
  b.section(Role::attention, "norm_1");
  b.kernel(norm(c, "norm_1", false, c.n_sp, c.hidden));
  for (const Projection& p : plan.down) project_forward(b, c, p);
  for (const Streaming& s : plan.latent_norms) b.kernel(stream(c, s, false));
  tp_gather(b, c, plan.gather_width);
  b.section(Role::attention, "attention");
  up_projections(b, c, plan);
  core(b, c, plan, false);
  b.section(Role::attention, "attention");
  for (const Streaming& s : plan.after_core) b.kernel(stream(c, s, false));
  project_forward(b, c, plan.out);
  tp_reduce(b, c, c.hidden);
  b.section(Role::attention, "pre_dispatch");
  b.kernel(add(c, "residual_1"));
}

void attention_backward(ChainBuilder& b, const LayerContext& c, const AttentionPlan& plan) {
  b.section(Role::attention, "pre_dispatch");
  tp_gather(b, c, c.hidden);
  b.section(Role::attention, "attention");
  project_dgrad(b, c, plan.out);
  for (const Streaming& s : plan.after_core) b.kernel(stream(c, s, true));
  b.prefix("rc_");
  if (plan.latent && c.recompute.mla_up_proj) up_projections(b, c, plan);
  if (plan.softmax && c.recompute.core_attn) core(b, c, plan, false);
  b.prefix("");
  core(b, c, plan, true);
  b.section(Role::attention, "attention");
  for (const Streaming& s : plan.before_core) b.kernel(stream(c, s, true));
  Duration dgrad;
  for (const Projection& p : plan.up) dgrad += project_dgrad(b, c, p);
  tp_regather(b, c, plan.gather_width, dgrad);
  tp_reduce(b, c, plan.gather_width);
  b.section(Role::attention, "norm_1");
  for (const Streaming& s : plan.latent_norms) b.kernel(stream(c, s, true));
  for (const Projection& p : plan.down) project_dgrad(b, c, p);
  if (c.recompute.layernorm) b.kernel(norm(c, "rc_norm_1", false, c.n_sp, c.hidden));
  b.kernel(norm(c, "norm_1_bwd", true, c.n_sp, c.hidden));
  b.kernel(add(c, "residual_1_bwd"));
}

void attention_wgrad(ChainBuilder& b, const LayerContext& c, const AttentionPlan& plan) {
  b.section(Role::wgrad_attention, "attention");
  project_wgrad(b, c, plan.out);
  for (const Projection& p : plan.up) project_wgrad(b, c, p);
  for (const Projection& p : plan.down) project_wgrad(b, c, p);
}

} // namespace tessella
