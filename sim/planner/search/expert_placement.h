// Which experts each GPU of an EP group holds, given how many tokens each expert receives.
//
// Balanced placement with equally many slots per GPU and the smallest maximum load is NP-hard (3-partition), so every
// placement comes with a lower bound and its gap.
//
//   contiguous  expert e on GPU e / (experts per GPU): what every framework starts from
//   eplb        DeepSeek's balancer: pack groups into nodes, replicate inside a node, pack replicas into GPUs
//   migrated    Piper's hill climbing: swap one expert of the most loaded with one of the least loaded GPU
//
// Sources: deepseek-ai/EPLB, eplb.py (same tie-breaks, so the same placement); arXiv 2605.05049, algorithm 2;
// science/planning, section 6; science/piper, section 7.2.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/units.h"

namespace tessella {

struct ExpertPlacement {
  std::int32_t num_gpus = 1;
  std::vector<std::int32_t> expert_at; // [slot]; GPU g owns the consecutive slots [g, g + 1) * slots_per_gpu()
  bool operator==(const ExpertPlacement&) const = default;

  std::size_t slots_per_gpu() const { return expert_at.size() / static_cast<std::size_t>(num_gpus); }
};

// Tokens of each GPU; the replicas of an expert share its load evenly. `load` is per expert.
std::vector<double> gpu_loads(const ExpertPlacement& placement, std::span<const double> load);
// 1 for an even placement, and when there is no load at all.
double max_over_mean(std::span<const double> loads);

// No placement with this many slots has a smaller maximum: the mean over the GPUs, the largest load per replica under
// the best replication, and without replicas the heaviest expert with its lightest possible company. O(slots log
// experts).
double placement_lower_bound(std::span<const double> load, std::int32_t num_slots, std::int32_t num_gpus);
// (max load - lower bound) / lower bound; 0 when there is no load.
double placement_gap(const ExpertPlacement& placement, std::span<const double> load);

// num_gpus divides the number of experts.
ExpertPlacement contiguous_placement(std::int32_t num_experts, std::int32_t num_gpus);

struct EplbShape {
  std::int32_t num_replicas = 1; // slots of the whole group
  std::int32_t num_groups = 1;   // of consecutive experts, for group-limited routing
  std::int32_t num_nodes = 1;
  std::int32_t num_gpus = 1;
  bool operator==(const EplbShape&) const = default;
};
// The rule that a shape breaks, with both numbers; nothing when eplb() may be called.
std::optional<std::string> check_eplb(const EplbShape& shape, std::int32_t num_experts);
// Groups that do not divide over the nodes make EPLB forget nodes and groups: its global policy.
bool is_global_policy(const EplbShape& shape);
// O(experts log experts + replicas * experts).
ExpertPlacement eplb(std::span<const double> load, const EplbShape& shape);

struct Migration {
  ExpertPlacement placement;
  std::int32_t swaps = 0;
  std::int32_t moved_per_gpu = 0; // most experts that any GPU receives
};
// At most max_swaps swaps, each the one that shrinks the larger of the two GPUs' loads most; stops when none does.
// The start must hold every expert once. O(swaps * slots per GPU^2).
Migration migrate(const ExpertPlacement& start, std::span<const double> load, std::int32_t max_swaps);

// Weights, gradients and optimizer of one SwiGLU expert: 3 matrices, 16 bytes per element.
Bytes expert_state(std::int64_t hidden_size, std::int64_t ffn_hidden_size);
// A migration pays when the time it saves in the remaining steps exceeds its one all-to-all.
struct MigrationTest {
  Duration cost;    // moved_per_gpu experts over the bandwidth of a GPU
  Duration benefit; // per step, times the remaining steps
  bool worthwhile() const { return benefit > cost; }
  bool operator==(const MigrationTest&) const = default;
};
MigrationTest migration_test(std::int32_t moved_per_gpu, Bytes expert, Bandwidth per_gpu, Duration gain_per_step,
                             std::int64_t remaining_steps);

} // namespace tessella
