#include "sim/cost/layer_context.h"

#include <utility>

namespace tessella {

RecomputeParts recompute_parts(const Recompute& r) {
  using M = RecomputeModule;
  RecomputeParts parts;
  parts.layer = r.granularity == RecomputeGranularity::full;
  parts.core_attn = r.has(M::core_attn);
  parts.layernorm = r.has(M::layernorm);
  parts.mla_up_proj = r.has(M::mla_up_proj);
  parts.mlp = r.has(M::mlp);
  parts.moe = r.has(M::moe);
  parts.moe_act = r.has(M::moe_act) && !parts.moe;
  parts.shared_experts = r.has(M::shared_experts) && !parts.moe;
  return parts;
}

LayerContext::LayerContext(const Scenario& s, KernelCosts& k, CommCosts& co)
    : scenario(s), kernels(k), comm(co), recompute(recompute_parts(s.recompute)), hidden(s.model.hidden_size),
      n(s.tokens_per_tp_group()), n_sp(s.parallelism.sequence_parallel ? n / s.parallelism.tp : n),
      tp(s.parallelism.tp), cp(s.parallelism.cp) {
  if (const ProfileEntry* row = s.profile.find("tp_exposed")) tp_exposed = factor_value(*row);
}

namespace {

void tp_collective(ChainBuilder& b, const LayerContext& c, OpDetail whole) {
  whole.duration = round_to_picoseconds(whole.duration.seconds() * c.tp_exposed);
  b.collective(OpClass::tp, c.tp, std::move(whole));
}

} // namespace

double elements(std::int64_t rows, std::int64_t width) {
  return static_cast<double>(rows) * static_cast<double>(width);
}

double cast_bytes(double elements) {
  return elements * (kBytesBf16 + kBytesFp8);
}

void tp_gather(ChainBuilder& b, const LayerContext& c, std::int64_t width) {
  if (c.tp == 1 || !c.scenario.parallelism.sequence_parallel) return;
  tp_collective(b, c,
                c.comm.collective("tp_ag", Collective::all_gather, GroupKind::tp, elements(c.n, width) * kBytesBf16));
}

void tp_reduce(ChainBuilder& b, const LayerContext& c, std::int64_t width) {
  if (c.tp == 1) return;
  const bool sp = c.scenario.parallelism.sequence_parallel;
  tp_collective(b, c,
                c.comm.collective(sp ? "tp_rs" : "tp_ar", sp ? Collective::reduce_scatter : Collective::all_reduce,
                                  GroupKind::tp, elements(c.n, width) * kBytesBf16));
}

void tp_regather(ChainBuilder& b, const LayerContext& c, std::int64_t width, Duration behind) {
  if (c.tp == 1 || !c.scenario.parallelism.sequence_parallel) return;
  b.hidden_collective(
      OpClass::tp, c.tp,
      c.comm.collective("tp_regather", Collective::all_gather, GroupKind::tp, elements(c.n, width) * kBytesBf16),
      behind);
}

void project_forward(ChainBuilder& b, const LayerContext& c, const Projection& p) {
  if (c.fp8() && p.shape.fp8 && p.cast_input)
    b.kernel(c.kernels.stream(p.name + "_cast", StreamKernel::cast, cast_bytes(elements(p.shape.tokens, p.shape.in))));
  b.kernel(c.kernels.linear(p.name, GemmPass::forward, p.shape));
}

Duration project_dgrad(ChainBuilder& b, const LayerContext& c, const Projection& p) {
  if (c.fp8() && p.shape.fp8)
    b.kernel(
        c.kernels.stream(p.name + "_grad_cast", StreamKernel::cast, cast_bytes(elements(p.shape.tokens, p.shape.out))));
  OpDetail gemm = c.kernels.linear(p.name + "_dgrad", GemmPass::dgrad, p.shape);
  const Duration duration = gemm.duration;
  b.kernel(std::move(gemm));
  return duration;
}

void project_wgrad(ChainBuilder& b, const LayerContext& c, const Projection& p) {
  // Blocks scale along the reduction, which is now the token axis: both operands are cast again, transposed.
  if (c.fp8() && p.shape.fp8) {
    const double input = p.cast_input ? elements(p.shape.tokens, p.shape.in) : 0.0;
    b.kernel(c.kernels.stream(p.name + "_transpose_cast", StreamKernel::cast,
                              cast_bytes(input + elements(p.shape.tokens, p.shape.out))));
  }
  b.kernel(c.kernels.linear(p.name + "_wgrad", GemmPass::wgrad, p.shape));
}

OpDetail norm(const LayerContext& c, const std::string& name, bool backward, std::int64_t rows, std::int64_t width) {
  const double passes = backward ? 3.0 : 2.0;
  return c.kernels.stream(name, backward ? StreamKernel::norm_bwd : StreamKernel::norm_fwd,
                          passes * elements(rows, width) * kBytesBf16);
}

OpDetail add(const LayerContext& c, const std::string& name) {
  return c.kernels.stream(name, StreamKernel::copy, 3.0 * elements(c.n_sp, c.hidden) * kBytesBf16);
}

} // namespace tessella
