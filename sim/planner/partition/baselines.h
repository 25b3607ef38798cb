// The partitions that other systems would choose, so that a plan can be shown next to them.
//
//   uniform      decoder layers as evenly as possible (Megatron's default)
//   layer_count  the same, embedding, MTP block and head counting as one layer each (DeepSpeed's `uniform`)
//   flops        smallest maximum of model FLOPs (FLOPs-balanced Megatron)
//   serial       smallest maximum of serial time: compute + exposed collectives, nothing overlapped
//   additive     smallest maximum of max(compute, exchange) + blocking collectives, summed layer by layer
//
// uniform, layer_count and flops ignore memory, as those systems do; serial and additive respect it, with one stage per
// rank exactly, with several chunks as coupled_caps.h says.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/domain/plan.h"
#include "sim/domain/scenario.h"
#include "sim/domain/schedule.h"
#include "sim/planner/partition/layer_table.h"
#include "sim/planner/partition/stage_memory.h"

namespace tessella {

struct NamedPartition {
  std::string name;
  Partition partition;
  bool operator==(const NamedPartition&) const = default;
};

// Layers [0, ends[0]), [ends[0], ends[1]), ...; embedding first, MTP and loss last.
Partition partition_at(std::span<const std::int32_t> ends, std::int64_t mtp_layers);

Partition uniform_partition(const Model& model, std::int64_t num_stages);
Partition layer_count_partition(const Model& model, std::int64_t num_stages);
// `efficiency` as in effective_cost(): 0 is serial, 1 is additive. `memory` null: no caps. Nothing when no partition
// fits. O(stages * layers * log).
std::optional<Partition> time_balanced_partition(const Model& model, const LayerTable& table, std::int64_t num_stages,
                                                 double efficiency, const StageMemory* memory);
Partition flops_partition(const Model& model, std::int64_t seq_length, FlopsConvention convention,
                          std::int64_t num_stages);

// Those that exist, in the order of the list above.
std::vector<NamedPartition> baseline_partitions(const Scenario& scenario, const LayerTable& table,
                                                const StageMemory& memory);

} // namespace tessella
