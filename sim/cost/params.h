// How many parameters a model has and where parallelism puts them. All numbers are elements, not bytes.
//
// Three buckets, because three degrees cut them: TP-sharded matrices, tensors every TP rank repeats (norms, routers,
// the low-rank MLA projections, row-parallel biases: Megatron-LM's placement), and routed experts (over EP * ETP).
// Counts per layer: layer_costs sections 5, 8.1 and 10; Gated DeltaNet, Mamba-2, latent projections (on every TP rank)
// and MTP as Megatron-LM builds them.
// Vocabulary padding to multiples of 128 * TP is left out (below 0.1 % of every model here).
// Complexity: O(layers) for a model, O(1) for the rest.
#pragma once

#include <cstdint>
#include <span>

#include "sim/domain/model.h"
#include "sim/domain/parallelism.h"
#include "sim/domain/plan.h"

namespace tessella {

struct ParamCount {
  std::int64_t tp_sharded = 0;
  std::int64_t replicated = 0; // on every TP rank
  std::int64_t routed = 0;     // expert weights, all experts
  std::int64_t total() const { return tp_sharded + replicated + routed; }
  ParamCount& operator+=(const ParamCount& o);
  ParamCount operator*(std::int64_t n) const { return {tp_sharded * n, replicated * n, routed * n}; }
  bool operator==(const ParamCount&) const = default;
};

ParamCount attention_params(std::int64_t hidden_size, const Attention& attention);
ParamCount ffn_params(std::int64_t hidden_size, const Ffn& ffn);
// One decoder layer: attention and FFN, each with its norm, as far as it has them.
ParamCount layer_params(std::int64_t hidden_size, const LayerKind& kind);
// Of one layer's routed parameters, those a token does not touch.
std::int64_t idle_params(std::int64_t hidden_size, const LayerKind& kind);

// The embedding; the output matrix is another of the same size, or the same tensor when embeddings are tied.
ParamCount vocabulary_params(const Model& model);
// One MTP block: its decoder layer, eh_proj (2h x h), the norms of both inputs and its final norm. Embedding and head
// are shared with the model.
ParamCount mtp_params(const Model& model);

struct ModelSize {
  std::int64_t total = 0;  // as the public sizes count: embedding and head in, MTP out
  std::int64_t active = 0; // total without the experts a token does not visit
  std::int64_t mtp = 0;    // of all MTP blocks, beside the total
  bool operator==(const ModelSize&) const = default;
};
ModelSize model_size(const Model& model);

// Parameters of one rank.
struct RankParams {
  std::int64_t dense = 0;      // everything but experts: optimizer state is spread over DP * CP
  std::int64_t expert = 0;     // optimizer state is spread over EDP
  std::int64_t vocabulary = 0; // the part of `dense` that is embedding and head
  std::int64_t replica = 0;    // of experts whose home is another rank: weights and gradients, no optimizer state
  bool operator==(const RankParams&) const = default;
};

// A rank that holds these stages. Embedding and head are held once however many of its stages need them: the first
// stage and MTP need the embedding, the loss and MTP need the head, and tied embeddings make them one tensor.
RankParams rank_params(const Model& model, const Partition& partition, std::span<const std::int32_t> stages,
                       const Parallelism& parallelism);

// The same rank with slots for replicas beside each layer's experts.
RankParams with_replicas(RankParams rank, std::int64_t replicas, std::int64_t experts_per_rank);

} // namespace tessella
