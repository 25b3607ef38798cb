#include "sim/cost/moe_ops.h"

#include "sim/cost/ffn_ops.h"

namespace tessella {
namespace {

constexpr double kRouterBytes = 4.0; // per token and expert: the convention of the profile's router row

MlpSpec shared_of(const MoeFfn& moe) {
  return {"shared", "shared_", moe.shared_ffn_hidden_size, moe.gated};
}

LinearShape router(const LayerContext& c, const MoeFfn& moe) {
  return {c.n_sp, c.hidden, moe.num_experts, false};
}

// What routed experts see of a token.
std::int64_t expert_input(const LayerContext& c, const MoeFfn& moe) {
  return expert_input_size(c.hidden, moe);
}

// Latent experts: every token is projected down before the exchange and up after it, on the rank that owns it.
Projection latent_down(const LayerContext& c, const MoeFfn& moe) {
  return {"latent_down", {c.n_sp, c.hidden, moe.moe_latent_size}};
}

Projection latent_up(const LayerContext& c, const MoeFfn& moe) {
  return {"latent_up", {c.n_sp, moe.moe_latent_size, c.hidden}};
}

// One copy of the tokens becomes top-k copies, or the other way round: (1 + K) n_sp h, with padding that instead of K.
OpDetail permute(const LayerContext& c, const MoeFfn& moe, const char* name, StreamKernel kernel) {
  return c.kernels.stream(name, kernel,
                          elements(c.n_sp + routed_rows(c.scenario, moe), expert_input(c, moe)) * kBytesBf16);
}

// Around the experts, by received rows: sort chunks by local expert (read and write a row), or make rows out of
// received tokens, on average one token per K rows.
void reorder_rows(ChainBuilder& b, const LayerContext& c, const MoeFfn& moe, const char* name) {
  const bool sort = permutes_before(c);
  if (sort && (local_experts(c, moe) == 1 || c.scenario.parallelism.ep == 1)) return;
  const double reads = sort ? 1.0 : 1.0 / static_cast<double>(moe.router_topk);
  const std::int64_t width = expert_input(c, moe);
  b.kernel_by_load([&c, name, reads, width](std::int64_t rows) {
    return c.kernels.stream(name, StreamKernel::permute, (1.0 + reads) * elements(rows, width) * kBytesBf16);
  });
}

void exchange(ChainBuilder& b, const LayerContext& c, const MoeFfn& moe, const char* name, bool combine_type) {
  const Parallelism& p = c.scenario.parallelism;
  if (p.ep == 1) return;
  ExpertTraffic traffic = expert_traffic(c.scenario, moe);
  if (!combine_type && dispatches_fp8(c)) traffic.bytes_per_element = kBytesFp8;
  b.collective_by_load(OpClass::ep, p.etp * p.ep, [&c, name, combine_type, traffic](std::int64_t rows) {
    return c.comm.expert(name, combine_type, traffic, rows);
  });
}

// All-gather (or reduce-scatter) of every ETP rank's rows.
void etp_exchange(ChainBuilder& b, const LayerContext& c, const MoeFfn& moe, bool gather) {
  const std::int64_t etp = c.scenario.parallelism.etp;
  if (etp == 1) return;
  const std::int64_t width = expert_input(c, moe);
  b.collective_by_load(OpClass::tp, etp, [&c, gather, etp, width](std::int64_t rows) {
    return c.comm.collective(gather ? "etp_ag" : "etp_rs", gather ? Collective::all_gather : Collective::reduce_scatter,
                             GroupKind::etp,
                             elements(rows * etp, width) * (gather && dispatches_fp8(c) ? kBytesFp8 : kBytesBf16));
  });
}

// The kernels of one expert pass, by received rows.
void expert_pass(ChainBuilder& b, const LayerContext& c, const MoeFfn& moe, GemmPass pass) {
  const std::int64_t etp = c.scenario.parallelism.etp;
  const std::int64_t experts = local_experts(c, moe);
  const std::size_t count = expert_kernels(c, moe, pass, spread_evenly(0, experts)).size();
  for (std::size_t i = 0; i < count; ++i)
    b.kernel_by_load([&c, &moe, pass, etp, experts, i](std::int64_t rows) {
      return expert_kernels(c, moe, pass, spread_evenly(rows * etp, experts))[i];
    });
}

// Shared expert, router, permutation: what the tokens go through between norm_2 and dispatch.
void before_dispatch(ChainBuilder& b, const LayerContext& c, const MoeFfn& moe) {
  if (moe.shared_ffn_hidden_size > 0) {
    mlp_forward(b, c, Role::attention, shared_of(moe));
    b.section(Role::attention, "pre_dispatch");
    if (moe.shared_gate) b.kernel(add(c, "shared_gate")); // its n x 1 GEMM reads the input anyway
  }
  b.section(Role::attention, "pre_dispatch");
  b.kernel(c.kernels.linear("router", GemmPass::forward, router(c, moe)));
  b.kernel(c.kernels.stream("router_topk", StreamKernel::router, kRouterBytes * elements(c.n_sp, moe.num_experts)));
  if (moe.moe_latent_size > 0) project_forward(b, c, latent_down(c, moe));
  if (permutes_before(c)) b.kernel(permute(c, moe, "permute", StreamKernel::permute));
  if (dispatches_fp8(c))
    b.kernel(c.kernels.stream("dispatch_cast", StreamKernel::cast, cast_bytes(elements(c.n_sp, expert_input(c, moe)))));
}

void dispatch_to_combine(ChainBuilder& b, const LayerContext& c, const MoeFfn& moe) {
  b.section(Role::dispatch, "dispatch");
  exchange(b, c, moe, "dispatch", false);
  b.section(Role::experts, "experts");
  etp_exchange(b, c, moe, true);
  b.section(Role::experts, "experts");
  reorder_rows(b, c, moe, "sort_rows");
  expert_pass(b, c, moe, GemmPass::forward);
  reorder_rows(b, c, moe, "unsort_rows");
  etp_exchange(b, c, moe, false);
  b.section(Role::combine, "join");
  exchange(b, c, moe, "combine", true);
  b.section(Role::combine, "join");
  if (permutes_before(c)) b.kernel(permute(c, moe, "unpermute", StreamKernel::unpermute));
  if (moe.moe_latent_size > 0) project_forward(b, c, latent_up(c, moe));
  if (moe.shared_ffn_hidden_size > 0) b.kernel(add(c, "shared_join"));
}

// From the gradient of the combined tokens to that of the dispatched ones.
void combine_to_dispatch(ChainBuilder& b, const LayerContext& c, const MoeFfn& moe) {
  b.section(Role::combine, "join");
  if (moe.moe_latent_size > 0) project_dgrad(b, c, latent_up(c, moe));
  if (permutes_before(c)) b.kernel(permute(c, moe, "unpermute_bwd", StreamKernel::permute));
  if (dispatches_fp8(c))
    b.kernel(
        c.kernels.stream("combine_grad_cast", StreamKernel::cast, cast_bytes(elements(c.n_sp, expert_input(c, moe)))));
  exchange(b, c, moe, "combine", false);
  b.section(Role::experts, "experts");
  etp_exchange(b, c, moe, true);
  b.section(Role::experts, "experts");
  reorder_rows(b, c, moe, "unsort_rows_bwd");
  expert_pass(b, c, moe, GemmPass::dgrad);
  reorder_rows(b, c, moe, "sort_rows_bwd");
  etp_exchange(b, c, moe, false);
  b.section(Role::dispatch, "dispatch");
  exchange(b, c, moe, "dispatch", true);
}

// Gradients of the permutation, the router and the shared expert, summed where they meet: at norm_2's output.
void before_dispatch_backward(ChainBuilder& b, const LayerContext& c, const MoeFfn& moe) {
  b.section(Role::attention, "pre_dispatch");
  if (permutes_before(c)) b.kernel(permute(c, moe, "permute_bwd", StreamKernel::unpermute));
  if (moe.moe_latent_size > 0) {
    project_dgrad(b, c, latent_down(c, moe));
    b.kernel(add(c, "latent_grad_add"));
  }
  b.kernel(c.kernels.stream("router_topk_bwd", StreamKernel::router, kRouterBytes * elements(c.n_sp, moe.num_experts)));
  b.kernel(c.kernels.linear("router_dgrad", GemmPass::dgrad, router(c, moe)));
  b.kernel(add(c, "router_grad_add"));
  if (moe.shared_ffn_hidden_size == 0) return;
  if (c.recompute.shared_experts) {
    b.prefix("rc_");
    mlp_forward(b, c, Role::attention, shared_of(moe));
    b.prefix("");
  }
  if (moe.shared_gate) {
    b.section(Role::attention, "pre_dispatch");
    b.kernel(add(c, "shared_gate_bwd"));
  }
  mlp_backward(b, c, Role::attention, shared_of(moe));
  b.section(Role::attention, "pre_dispatch");
  b.kernel(add(c, "shared_grad_add"));
}

} // namespace

void moe_forward(ChainBuilder& b, const LayerContext& c, const MoeFfn& moe) {
  b.section(Role::attention, "pre_dispatch");
  b.kernel(norm(c, "norm_2", false, c.n_sp, c.hidden));
  before_dispatch(b, c, moe);
  dispatch_to_combine(b, c, moe);
  b.kernel(add(c, "residual_2"));
}

void moe_backward(ChainBuilder& b, const LayerContext& c, const MoeFfn& moe) {
  if (c.recompute.moe) {
    b.prefix("rc_");
    before_dispatch(b, c, moe);
    dispatch_to_combine(b, c, moe);
    b.cut();
    b.prefix("");
  }
  combine_to_dispatch(b, c, moe);
  before_dispatch_backward(b, c, moe);
  norm_2_backward(b, c);
}

void moe_wgrad(ChainBuilder& b, const LayerContext& c, const MoeFfn& moe) {
  b.section(Role::wgrad_experts, "experts");
  expert_pass(b, c, moe, GemmPass::wgrad);
  b.section(Role::wgrad_attention, "attention");
  if (moe.shared_ffn_hidden_size > 0) mlp_wgrad(b, c, Role::wgrad_attention, shared_of(moe));
  if (moe.moe_latent_size > 0) {
    project_wgrad(b, c, latent_up(c, moe));
    project_wgrad(b, c, latent_down(c, moe));
  }
  b.kernel(c.kernels.linear("router_wgrad", GemmPass::wgrad, router(c, moe)));
}

} // namespace tessella
