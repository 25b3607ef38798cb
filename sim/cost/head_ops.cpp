#include "sim/cost/head_ops.h"

namespace tessella {
namespace {

// HBM bytes per logit of the fused cross-entropy: read for the softmax sum, read and overwritten with the gradient;
// backward scales that gradient in place.
constexpr double kLossBytes = 6.0;
constexpr double kLossBackwardBytes = 4.0;
constexpr double kFp32 = 4.0;

Projection logits(const LayerContext& c) {
  return {"logits", {c.n, c.hidden, c.scenario.model.vocab_size / c.tp, false}};
}

OpDetail loss(const LayerContext& c, bool backward) {
  const double count = elements(c.n, c.scenario.model.vocab_size / c.tp);
  return c.kernels.stream(backward ? "loss_bwd" : "loss", StreamKernel::cross_entropy,
                          (backward ? kLossBackwardBytes : kLossBytes) * count);
}

// Column-parallel; its output is gathered over the hidden dimension afterwards.
Projection eh_proj(const LayerContext& c) {
  return {"eh_proj", {c.n, 2 * c.hidden, c.hidden / c.tp}};
}

} // namespace

void embedding_forward(ChainBuilder& b, const LayerContext& c) {
  b.section(Role::attention, "embedding");
  b.kernel(c.kernels.stream("lookup", StreamKernel::embedding, 2.0 * elements(c.n, c.hidden) * kBytesBf16));
  tp_reduce(b, c, c.hidden);
}

void embedding_backward(ChainBuilder& b, const LayerContext& c) {
  b.section(Role::attention, "embedding");
  tp_gather(b, c, c.hidden);
  // Each gradient row is read and added to an fp32 row.
  b.kernel(
      c.kernels.stream("scatter_add", StreamKernel::embedding, (kBytesBf16 + 2.0 * kFp32) * elements(c.n, c.hidden)));
}

void head_forward(ChainBuilder& b, const LayerContext& c) {
  b.section(Role::attention, "head");
  b.kernel(norm(c, "final_norm", false, c.n_sp, c.hidden));
  tp_gather(b, c, c.hidden);
  project_forward(b, c, logits(c));
  b.kernel(loss(c, false));
  if (c.tp > 1) // maximum, sum and target logit of every token
    b.collective(OpClass::tp, c.tp,
                 c.comm.collective("tp_loss", Collective::all_reduce, GroupKind::tp, 3.0 * kFp32 * elements(c.n, 1)));
}

void head_backward(ChainBuilder& b, const LayerContext& c) {
  b.section(Role::attention, "head");
  b.kernel(loss(c, true));
  tp_regather(b, c, c.hidden, project_dgrad(b, c, logits(c)));
  tp_reduce(b, c, c.hidden);
  b.section(Role::attention, "head");
  b.kernel(norm(c, "final_norm_bwd", true, c.n_sp, c.hidden));
}

void head_wgrad(ChainBuilder& b, const LayerContext& c) {
  b.section(Role::wgrad_attention, "head");
  project_wgrad(b, c, logits(c));
}

void mtp_forward(ChainBuilder& b, const LayerContext& c) {
  embedding_forward(b, c);
  b.section(Role::attention, "mtp");
  b.kernel(norm(c, "embedding_norm", false, c.n_sp, c.hidden));
  b.kernel(norm(c, "hidden_norm", false, c.n_sp, c.hidden));
  tp_gather(b, c, 2 * c.hidden);
  b.section(Role::attention, "mtp");
  project_forward(b, c, eh_proj(c));
  tp_gather(b, c, c.hidden);
  head_forward(b, c);
}

void mtp_backward(ChainBuilder& b, const LayerContext& c) {
  head_backward(b, c);
  tp_gather(b, c, c.hidden);
  b.section(Role::attention, "mtp");
  tp_regather(b, c, 2 * c.hidden, project_dgrad(b, c, eh_proj(c)));
  tp_reduce(b, c, 2 * c.hidden);
  b.section(Role::attention, "mtp");
  b.kernel(norm(c, "hidden_norm_bwd", true, c.n_sp, c.hidden));
  b.kernel(norm(c, "embedding_norm_bwd", true, c.n_sp, c.hidden));
  embedding_backward(b, c);
}

void mtp_wgrad(ChainBuilder& b, const LayerContext& c) {
  head_wgrad(b, c);
  project_wgrad(b, c, eh_proj(c));
}

} // namespace tessella
