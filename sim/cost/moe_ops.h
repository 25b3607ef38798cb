// The MoE half of a layer: router, permutation, dispatch, experts, combine, and the shared expert, which runs serially
// before the router as in Megatron without shared-expert overlap (layer_costs, sections 4 to 7). Latent experts
// (Nemotron-3 Super) see tokens projected down before they are permuted and up after they are combined.
//
// Where tokens are copied depends on the dispatcher. alltoall (and EP = 1) permutes before the exchange and restores
// after it; with several local experts the received chunks are sorted again. deepep, hybridep and allgather exchange
// tokens as they are and permute what a rank received. fp8 dispatch is the fused dispatchers' only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/cost/layer_context.h"

namespace tessella {

// norm_2 to join (shared expert, second residual).
void moe_forward(ChainBuilder& b, const LayerContext& c, const MoeFfn& moe);
// With what is recomputed; ends with the gradient after the first residual.
void moe_backward(ChainBuilder& b, const LayerContext& c, const MoeFfn& moe);
void moe_wgrad(ChainBuilder& b, const LayerContext& c, const MoeFfn& moe);

// The kernels of one expert pass with `tokens[e]` rows at local expert e (after the ETP gather): the vector-valued cost
// behind the curves, which assume an even spread. Casts, activation and its recomputation included.
std::vector<OpDetail> expert_kernels(const LayerContext& c, const MoeFfn& moe, GemmPass pass,
                                     std::span<const std::int64_t> tokens);

// `rows` over `experts` as evenly as possible, the first ones one more.
std::vector<std::int64_t> spread_evenly(std::int64_t rows, std::int64_t experts);

// Expert weights that a rank computes with: its slots, replicas of a placement among them.
std::int64_t local_experts(const LayerContext& c, const MoeFfn& moe);
// Tokens are copied and sorted before the exchange (alltoall, EP = 1) rather than after it.
bool permutes_before(const LayerContext& c);
bool dispatches_fp8(const LayerContext& c);

} // namespace tessella
