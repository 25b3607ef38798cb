// The sizes that turn routing shares into token counts, and whether a RoutingSpec fits them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/domain/model.h"
#include "sim/domain/parallelism.h"
#include "sim/domain/routing.h"
#include "sim/domain/scenario.h"

namespace tessella {

// One EP group and one micro-batch. Expert e lives on EP rank e / (num_experts / ep).
struct WorkloadShape {
  std::int64_t layers = 0;          // MoE layers in model order, those of MTP last
  std::int64_t num_experts = 0;     // of each
  std::int64_t router_topk = 0;     // copies of a token
  std::int64_t ep = 1;              // ranks of the EP group
  std::int64_t tokens_per_rank = 0; // that each EP rank sends: micro_batch * seq / (CP * TP); before any ETP all-gather
  std::int64_t steps = 1;           // steps 0 .. steps-1 will be asked for
  bool operator==(const WorkloadShape&) const = default;

  // Routed rows of one EP group in one layer and micro-batch; what every draw sums to.
  std::int64_t rows() const { return ep * tokens_per_rank * router_topk; }
  std::int64_t experts_per_rank() const { return num_experts / ep; }
};

// Layers with experts: decoder layers by number, MTP layer i as num_layers + i. Position in this list = MoE layer
// index.
std::vector<std::int64_t> moe_layers(const Model& model);

// For a legal plan; all zero sizes for a dense model. Takes experts and top-k from the first MoE layer, legality.h
// refuses models whose MoE layers differ in them.
WorkloadShape workload_shape(const Model& model, const Parallelism& parallelism, const Batch& batch,
                             std::int64_t steps = 1);

// The largest rows() of an EP group: counts stay exact in 32 bits and in single precision with a carried remainder.
inline constexpr std::int64_t kMaxRows = std::int64_t{1} << 30;

struct RoutingProblem {
  std::string key;     // dotted path of the experiment key, e.g. "routing.drift_phi"
  std::string message; // with both numbers
  bool operator==(const RoutingProblem&) const = default;
};

// Rows that one expert accepts from an EP group with a capacity factor: from each rank tokens * top-k / experts times
// the factor, rounded up, as Megatron-LM counts them (--moe-expert-capacity-factor, per source rank and micro-batch).
// Every source rank is taken to send the same mix, so only the sum over the ranks matters. Nothing: dropless.
std::optional<std::int64_t> expert_capacity(const RoutingSpec& spec, const WorkloadShape& shape);

// With padding: rows that every rank computes over the even share of the routed ones; 1 otherwise.
double padded_load(const Scenario& scenario);

// Slots for replicas that each EP rank holds beside its own experts: in a placement, and where they may be called for
// while the job runs.
std::int64_t placed_replicas(const Scenario& scenario);
std::int64_t reserved_replicas(const Scenario& scenario);

// Everything that keeps `spec` from being drawn with `shape`; empty when it can. O(size of loads or trace).
std::vector<RoutingProblem> check_routing(const RoutingSpec& spec, const WorkloadShape& shape);

} // namespace tessella
