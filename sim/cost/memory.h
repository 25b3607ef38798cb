// Does it fit? Peak bytes of every pipeline rank, from the parameters it holds and the order its schedule runs in.
//
// Model state (layer_costs section 8.1): bf16 weights 2, fp32 main gradients 4, Adam 12 (fp32 master, two moments)
// bytes per parameter; with the distributed optimizer 12 / D, D = DP * CP for dense and EDP for expert parameters; none
// of these when the optimizer is offloaded. FP8
// keeps the bf16 weights and adds two one-byte copies (row- and column-wise) of every layer matrix, cached over
// micro-batches.
//
// Replicas of experts hold weights and gradients, their optimizer state stays at home; slots for replicas that may come
// are reserved.
//
// Activations: walk the rank's slots; F adds its stage's kept bytes, B or W frees them (I frees only the logits), both
// actions of a pair are live together. Uneven stages are charged as they are; in-flight counts are the schedule's own.
//
// Buffers: receive-ahead and send copies of a stage boundary in both directions; one layer's permuted tokens on the way
// out and back; the widest gradient of a backward layer and what recomputation rebuilds of it; the assumptions below.
//
// Complexity: O(slots + layers * kinds). Throws nothing; a scenario whose bytes exceed 2^63 is an InternalError,
// because legality caps sizes long before.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sim/cost/activation.h"
#include "sim/cost/params.h"
#include "sim/domain/memory.h"
#include "sim/domain/scenario.h"
#include "sim/domain/schedule.h"

namespace tessella {

// None of these is measured; each is stated in MemoryReport::assumptions.
struct MemoryAssumptions {
  double fragmentation = 1.05;            // allocator: reserved over allocated, on activations and buffers
  Bytes context{3LL * 512 * 1024 * 1024}; // CUDA context and NCCL channels, outside the allocator
  double hot_load = 1.0;                  // tokens of the hottest expert rank over the mean, from the routing
  bool probs_before_fc2 = true;
  bool operator==(const MemoryAssumptions&) const = default;
};

// Weights, gradients and optimizer of one rank; the other fields of the result stay empty.
RankMemory model_state(const RankParams& params, const Parallelism& parallelism, const Optimizer& optimizer,
                       Precision precision);

struct LivePeak {
  double bytes = 0.0;
  std::int64_t chunks = 0; // live when the bytes peak
  bool operator==(const LivePeak&) const = default;
};
// `stages` holds one entry per global stage.
LivePeak peak_live(std::span<const Slot> slots, std::span<const StageActivation> stages);

// rank_params() with the slots for replicas that the scenario reserves.
RankParams held_params(const Scenario& scenario, const Partition& partition, std::span<const std::int32_t> stages);

MemoryReport memory_report(const Scenario& scenario, const Schedule& schedule, const MemoryAssumptions& assume = {});

struct RunPlan {
  Partition partition;
  Schedule schedule;
};
// The plan a scenario would run with after its parallelism changed; nothing when that grid is illegal.
using Replan = std::function<std::optional<RunPlan>(const Scenario&)>;

// Fewest GPUs that fit: worlds of 2, 3, ... `max_factor` times this one, each split into more DP (with EP as it is,
// then grown along), else more PP, else more TP inside a node, in that order; the global batch stays. Nothing when none
// fits. Grids whose model state alone is too large are dropped before `replan` is asked.
std::optional<Parallelism> smallest_fitting_world(const Scenario& scenario, const Replan& replan,
                                                  const MemoryAssumptions& assume = {}, std::int64_t max_factor = 64);

// memory_report, and the smallest world when it does not fit.
MemoryReport check_memory(const Scenario& scenario, const Schedule& schedule, const Replan& replan,
                          const MemoryAssumptions& assume = {}, std::int64_t max_factor = 64);

} // namespace tessella
