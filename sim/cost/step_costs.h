// What a pipeline rank pays once per step: data-parallel collectives and the optimizer (schedules, section 10).
// Parameters are counted as one rank holds them, after TP, EP and ETP. Dense ones reduce over DP x CP, experts over
// EDP. Every function throws NotCovered when the profile lacks its rows; O(world).
#pragma once

#include <cstdint>

#include "sim/cost/layer_ops.h"

namespace tessella {

class KernelCosts;
class CommCosts;

// fp32 gradients, reduce-scatter with the distributed optimizer, else all-reduce; in Megatron's buckets of
// max(40e6, 1e6 * DP) parameters when the reduction overlaps the backward pass.
OpDetail grad_reduce(const Scenario& scenario, std::int64_t dense_params, std::int64_t expert_params);
// In how many buckets, of dense and of expert gradients together, a reduction (or gather) that overlaps runs; at least
// 1. Megatron's buckets: max(40e6, 1e6 * DP) parameters.
std::int64_t overlap_buckets(const Scenario& scenario, std::int64_t dense_params, std::int64_t expert_params);
// bf16 parameters, with the distributed optimizer; nothing without.
OpDetail param_gather(const Scenario& scenario, std::int64_t dense_params, std::int64_t expert_params);
// Gradient norm and Adam on this rank's share.
OpDetail optimizer_step(const Scenario& scenario, std::int64_t dense_params, std::int64_t expert_params);
// Once over the link to the host (profile row `host_link`, form stream): 12 bytes of Adam's state per parameter of this
// rank's share. An offloaded optimizer pays it twice a step, in before and out after.
OpDetail state_transfer(const Scenario& scenario, std::int64_t dense_params, std::int64_t expert_params);
// A hash reads every byte of a checkpoint once: 2 per parameter held and 12 per parameter of the share, as fast as the
// profile's elementwise kernels (row `copy`) stream from HBM.
OpDetail checkpoint_hash(const Scenario& scenario, std::int64_t dense_params, std::int64_t expert_params);
// Tied embeddings: the gradient's all-reduce between first and last stage; nothing otherwise or with PP = 1.
OpDetail embedding_grad_reduce(const Scenario& scenario);

// All of the above for some parameters, only to note the rows they miss.
void note_step_costs(const Scenario& scenario, KernelCosts& kernels, CommCosts& comm);

} // namespace tessella
