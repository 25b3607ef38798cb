// What every part of a layer needs to cost itself, and the tensor-parallel collectives they share.
// Sizes as in layer_costs, section 3: n tokens of a TP group, n_sp = n / TP of a rank in the sequence-parallel region.
#pragma once

#include <cstdint>
#include <string>

#include "sim/cost/chain_builder.h"
#include "sim/cost/comm_costs.h"
#include "sim/cost/kernel_costs.h"

namespace tessella {

inline constexpr double kBytesBf16 = 2.0;
inline constexpr double kBytesFp8 = 1.0 + 4.0 / 128.0; // one fp32 scale per block of 128

// Megatron's --recompute-* resolved: which forward parts a layer's backward runs again.
struct RecomputeParts {
  bool layer = false; // all of it
  bool core_attn = false;
  bool layernorm = false;
  bool mla_up_proj = false;
  bool mlp = false;            // of a dense layer
  bool moe = false;            // router, shared experts, dispatch, experts, combine
  bool moe_act = false;        // not inside a recomputed moe
  bool shared_experts = false; // not inside a recomputed moe
};
RecomputeParts recompute_parts(const Recompute& recompute);

struct LayerContext {
  LayerContext(const Scenario& scenario, KernelCosts& kernels, CommCosts& comm);

  const Scenario& scenario;
  KernelCosts& kernels;
  CommCosts& comm;
  RecomputeParts recompute;
  std::int64_t hidden = 0;
  std::int64_t n = 0;
  std::int64_t n_sp = 0;
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  // Share of a tensor-parallel gather or scatter that its GEMM does not hide (row `tp_exposed`); 1 without that row.
  double tp_exposed = 1.0;

  bool fp8() const { return kernels.precision() == Precision::fp8; }
};

// What a part of a layer adds to a chain; `width` = elements per token.
// Enters a tensor-parallel region (backward: leaves one with its gradient): all-gather of n x width with sequence
// parallelism, nothing without.
void tp_gather(ChainBuilder& b, const LayerContext& c, std::int64_t width);
// Leaves a tensor-parallel region: reduce-scatter with sequence parallelism, all-reduce without.
void tp_reduce(ChainBuilder& b, const LayerContext& c, std::int64_t width);
// Backward gathers a linear's input again for its weight gradient, under the input gradient GEMM `behind`.
void tp_regather(ChainBuilder& b, const LayerContext& c, std::int64_t width, Duration behind);

// A linear layer: its casts (fp8 only) and GEMM. `cast_input` is false when a neighbour cast the same input.
struct Projection {
  std::string name;
  LinearShape shape;
  bool cast_input = true;
};
void project_forward(ChainBuilder& b, const LayerContext& c, const Projection& p);
Duration project_dgrad(ChainBuilder& b, const LayerContext& c, const Projection& p); // of the GEMM
void project_wgrad(ChainBuilder& b, const LayerContext& c, const Projection& p);

// HBM bytes of a cast of `elements` bf16 values to fp8, with scales.
double cast_bytes(double elements);
double elements(std::int64_t rows, std::int64_t width);

// Norm over rows x width: 2 passes forward, 3 backward.
OpDetail norm(const LayerContext& c, const std::string& name, bool backward, std::int64_t rows, std::int64_t width);
// Reads two tensors of n_sp x hidden, writes one: a residual or a join; backward: gradients of two branches.
OpDetail add(const LayerContext& c, const std::string& name);

} // namespace tessella
