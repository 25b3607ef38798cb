#include "sim/cost/ffn_ops.h"

namespace tessella {
namespace {

struct MlpLinears {
  Projection fc1;
  Projection fc2;
};

MlpLinears linears(const LayerContext& c, const MlpSpec& mlp) {
  const std::int64_t width = mlp.width / c.tp;
  return {{mlp.prefix + "fc1", {c.n, c.hidden, (mlp.gated ? 2 : 1) * width}},
          {mlp.prefix + "fc2", {c.n, width, c.hidden}}};
}

OpDetail activation(const LayerContext& c, const MlpSpec& mlp, bool backward) {
  const double bytes = activation_bytes(mlp.gated, backward, elements(c.n, mlp.width / c.tp));
  return c.kernels.stream(mlp.prefix + (backward ? "act_bwd" : "act"),
                          backward ? StreamKernel::activation_bwd : StreamKernel::activation_fwd, bytes);
}

MlpSpec ffn_of(const DenseFfn& ffn) {
  return {"ffn", "", ffn.ffn_hidden_size, ffn.gated};
}

} // namespace

double activation_bytes(bool gated, bool backward, double elements) {
  // forward: inputs + output; backward: inputs + their gradients + the output's (layer_costs, section 6)
  const double passes = gated ? (backward ? 5.0 : 3.0) : (backward ? 3.0 : 2.0);
  return passes * elements * kBytesBf16;
}

void mlp_forward(ChainBuilder& b, const LayerContext& c, Role role, const MlpSpec& mlp) {
  const MlpLinears l = linears(c, mlp);
  tp_gather(b, c, c.hidden);
  b.section(role, mlp.section);
  project_forward(b, c, l.fc1);
  b.kernel(activation(c, mlp, false));
  project_forward(b, c, l.fc2);
  tp_reduce(b, c, c.hidden);
}

void mlp_backward(ChainBuilder& b, const LayerContext& c, Role role, const MlpSpec& mlp) {
  const MlpLinears l = linears(c, mlp);
  tp_gather(b, c, c.hidden);
  b.section(role, mlp.section);
  project_dgrad(b, c, l.fc2);
  b.kernel(activation(c, mlp, true));
  tp_regather(b, c, c.hidden, project_dgrad(b, c, l.fc1));
  tp_reduce(b, c, c.hidden);
}

void mlp_wgrad(ChainBuilder& b, const LayerContext& c, Role role, const MlpSpec& mlp) {
  const MlpLinears l = linears(c, mlp);
  b.section(role, role == Role::wgrad_experts ? mlp.section : "attention");
  project_wgrad(b, c, l.fc2);
  project_wgrad(b, c, l.fc1);
}

void dense_forward(ChainBuilder& b, const LayerContext& c, const DenseFfn& ffn) {
  b.section(Role::attention, "pre_dispatch");
  b.kernel(norm(c, "norm_2", false, c.n_sp, c.hidden));
  b.section(Role::experts, "ffn");
  mlp_forward(b, c, Role::experts, ffn_of(ffn));
  b.section(Role::experts, "ffn");
  b.kernel(add(c, "residual_2"));
}

void dense_backward(ChainBuilder& b, const LayerContext& c, const DenseFfn& ffn) {
  b.section(Role::experts, "ffn");
  if (c.recompute.mlp) {
    b.prefix("rc_");
    mlp_forward(b, c, Role::experts, ffn_of(ffn));
    b.prefix("");
  }
  mlp_backward(b, c, Role::experts, ffn_of(ffn));
  norm_2_backward(b, c);
}

void dense_wgrad(ChainBuilder& b, const LayerContext& c, const DenseFfn& ffn) {
  mlp_wgrad(b, c, Role::wgrad_experts, ffn_of(ffn));
}

void norm_2_backward(ChainBuilder& b, const LayerContext& c) {
  b.section(Role::attention, "pre_dispatch");
  if (c.recompute.layernorm) b.kernel(norm(c, "rc_norm_2", false, c.n_sp, c.hidden));
  b.kernel(norm(c, "norm_2_bwd", true, c.n_sp, c.hidden));
  b.kernel(add(c, "residual_2_bwd"));
}

} // namespace tessella
