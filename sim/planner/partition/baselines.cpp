#include "sim/planner/partition/baselines.h"

#include <cmath>

#include "sim/cost/flops.h"
#include "sim/domain/layout.h"
#include "sim/planner/partition/coupled_caps.h"
#include "sim/planner/partition/partition_dp.h"

namespace tessella {
namespace {

// A chain whose first stage also holds the embedding and whose last stage MTP and head.
std::optional<Partition> balance(const Model& model, std::span<const ChainLayer> layers,
                                 std::span<const ChainStage> stages) {
  const auto best = min_max_chain(layers, stages, layers.size() < stages.size());
  if (!best) return std::nullopt;
  return partition_at(best->ends, model.mtp_num_layers);
}

// Caps of a schedule with one stage per rank; nothing moves when there are several.
void add_memory(const Model& model, const StageMemory& memory, std::vector<ChainLayer>& layers,
                std::vector<ChainStage>& stages) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    StageContent one;
    one.first_layer = static_cast<std::int32_t>(i);
    one.num_layers = 1;
    const StageBytes bytes = memory.of(one);
    layers[i].state = bytes.state;
    layers[i].activation = bytes.kept;
  }
  for (std::size_t r = 0; r < memory.live().size(); ++r) {
    const LiveStage& live = memory.live()[r].front().front();
    const auto s = static_cast<std::size_t>(live.stage);
    StageContent fixed;
    fixed.embedding = s == 0;
    fixed.loss = s + 1 == stages.size();
    if (fixed.loss) fixed.mtp_layers = static_cast<std::int32_t>(model.mtp_num_layers);
    const StageBytes bytes = memory.of(fixed);
    stages[s].memory = bytes.state + bytes.kept * live.kept + bytes.loss * live.loss;
    stages[s].in_flight = live.kept;
    stages[s].cap = memory.budget();
  }
}

bool one_stage_per_rank(const StageMemory& memory, std::size_t stages) {
  if (memory.live().size() != stages) return false;
  for (const auto& rank : memory.live())
    if (rank.size() != 1 || rank.front().size() != 1) return false;
  return true;
}

} // namespace

Partition partition_at(std::span<const std::int32_t> ends, std::int64_t mtp_layers) {
  std::vector<std::int64_t> counts;
  std::int64_t from = 0;
  for (const std::int32_t end : ends) {
    counts.push_back(end - from);
    from = end;
  }
  return partition_of(counts, mtp_layers);
}

Partition uniform_partition(const Model& model, std::int64_t num_stages) {
  return partition_of(balanced_split(model.num_layers(), num_stages), model.mtp_num_layers);
}

Partition layer_count_partition(const Model& model, std::int64_t num_stages) {
  const std::int64_t tail = 1 + model.mtp_num_layers;
  std::vector<ChainLayer> layers(static_cast<std::size_t>(model.num_layers()), {Duration{1}, {}, {}});
  std::vector<ChainStage> stages(static_cast<std::size_t>(num_stages));
  stages.front().time = Duration{1};
  stages.back().time += Duration{tail};
  return *balance(model, layers, stages); // without caps there is always one
}

Partition flops_partition(const Model& model, std::int64_t seq_length, FlopsConvention convention,
                          std::int64_t num_stages) {
  // A MFLOP per token is fine enough to tell layers apart and keeps the sums in 64 bits.
  const auto weight = [](double flops) { return Duration{std::llround(flops / 1e6)}; };
  const auto kind = [&](const LayerKind& k) {
    return layer_flops_per_token(model.hidden_size, k, seq_length, convention).total();
  };
  std::vector<ChainLayer> layers;
  for (std::int64_t i = 0; i < model.num_layers(); ++i) layers.push_back({weight(kind(model.layer(i))), {}, {}});
  const FlopsBreakdown all = model_flops_per_token(model, seq_length, convention);
  const double mtp =
      model.mtp_num_layers == 0 ? 0.0 : all.mtp + static_cast<double>(model.mtp_num_layers) * kind(model.mtp_layer());
  std::vector<ChainStage> stages(static_cast<std::size_t>(num_stages));
  stages.back().time = weight(all.logits + mtp);
  return *balance(model, layers, stages); // without caps there is always one
}

std::optional<Partition> time_balanced_partition(const Model& model, const LayerTable& table, std::int64_t num_stages,
                                                 double efficiency, const StageMemory* memory) {
  const auto cost = [&](const PieceTimes& p) { return effective_cost(p.layer_times(), efficiency); };
  std::vector<ChainLayer> layers;
  for (std::int32_t i = 0; i < table.num_layers(); ++i) layers.push_back({cost(table.layer(i)), {}, {}});
  std::vector<ChainStage> stages(static_cast<std::size_t>(num_stages));
  stages.front().time = cost(table.embedding());
  stages.back().time += cost(table.head()) + cost(table.mtp()) * model.mtp_num_layers;
  if (memory != nullptr && one_stage_per_rank(*memory, stages.size())) add_memory(model, *memory, layers, stages);
  auto best = balance(model, layers, stages);
  if (!best || memory == nullptr || one_stage_per_rank(*memory, stages.size())) return best;
  return balance_under_caps(layers, stages, *best, *memory);
}

std::vector<NamedPartition> baseline_partitions(const Scenario& scenario, const LayerTable& table,
                                                const StageMemory& memory) {
  const Model& model = scenario.model;
  const std::int64_t stages = scenario.parallelism.num_stages();
  std::vector<NamedPartition> all;
  const auto add = [&](const char* name, std::optional<Partition> partition) {
    if (partition) all.push_back({name, std::move(*partition)});
  };
  add("uniform", uniform_partition(model, stages));
  add("layer_count", layer_count_partition(model, stages));
  add("flops", flops_partition(model, scenario.batch.seq_length, scenario.flops_convention, stages));
  add("serial", time_balanced_partition(model, table, stages, 0.0, &memory));
  add("additive", time_balanced_partition(model, table, stages, 1.0, &memory));
  return all;
}

} // namespace tessella
