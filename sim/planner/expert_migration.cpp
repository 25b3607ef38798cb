#include "sim/planner/expert_migration.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/cost/params.h"
#include "sim/domain/workload_shape.h"
#include "sim/planner/simulate.h"

namespace tessella {
namespace {

// [MoE layer] -> pipeline rank; layers of MTP are on the last stage.
std::vector<std::size_t> positions_of(const Scenario& s) {
  const Schedule schedule = schedule_of(s);
  std::vector<std::size_t> positions;
  for (const std::int64_t layer : moe_layers(s.model)) {
    std::size_t stage = s.partition.stages.size() - 1;
    for (std::size_t i = 0; i < s.partition.stages.size(); ++i) {
      const StageContent& c = s.partition.stages[i];
      if (layer >= c.first_layer && layer < c.first_layer + c.num_layers) stage = i;
    }
    positions.push_back(static_cast<std::size_t>(schedule.stage_ranks[stage].front().value));
  }
  return positions;
}

Duration expert_time(const Scenario& s, std::int64_t num_experts) {
  const std::int64_t layer = moe_layers(s.model).front();
  const std::int64_t params = ffn_params(s.model.hidden_size, s.model.layer(layer).ffn).routed / num_experts;
  const double optimizer = s.optimizer.distributed ? 12.0 / static_cast<double>(s.parallelism.edp()) : 12.0;
  const double bytes = static_cast<double>(params / s.parallelism.etp) * (2.0 + optimizer);
  const NodeSpec& node = s.cluster.node;
  const Bandwidth port = node.nics == 0
                             ? node.scale_up.bandwidth
                             : node.nic.bandwidth * (static_cast<double>(node.nics) / static_cast<double>(node.gpus));
  return round_to_picoseconds(bytes / port.bytes_per_second);
}

// Most slots of a rank whose expert was not there before.
std::int64_t received(const ExpertPlacement& from, const ExpertPlacement& to) {
  const std::size_t old_slots = from.slots_per_gpu();
  const std::size_t new_slots = to.slots_per_gpu();
  std::int64_t most = 0;
  for (std::size_t g = 0; g < static_cast<std::size_t>(to.num_gpus); ++g) {
    const auto before = std::span(from.expert_at).subspan(g * old_slots, old_slots);
    const auto after = std::span(to.expert_at).subspan(g * new_slots, new_slots);
    most = std::max(most, static_cast<std::int64_t>(std::count_if(after.begin(), after.end(), [&](std::int32_t e) {
                      return std::find(before.begin(), before.end(), e) == before.end();
                    })));
  }
  return most;
}

} // namespace

MigratingLoads::MigratingLoads(const Scenario& s)
    : s_(s), model_(s.routing, workload_shape(s.model, s.parallelism, s.batch, s.steps), s.seed),
      position_(positions_of(s)) {
  const WorkloadShape& shape = model_.shape();
  placement_.assign(
      static_cast<std::size_t>(shape.layers),
      contiguous_placement(static_cast<std::int32_t>(shape.num_experts), static_cast<std::int32_t>(shape.ep)));
  for (std::size_t layer = 0; layer < s.routing.expert_at.size(); ++layer)
    placement_[layer].expert_at = s.routing.expert_at[layer];
  moved_.assign(placement_.size(), false);
  per_expert_ = expert_time(s, shape.num_experts);
}

ExpertPlacement MigratingLoads::anew(const ExpertPlacement& now, std::span<const double> load) const {
  const ExpertMigrationSpec& x = s_.expert_migration;
  if (x.method == MigrationMethod::swap) return migrate(now, load, static_cast<std::int32_t>(x.max_swaps)).placement;
  const auto ep = static_cast<std::int32_t>(model_.shape().ep);
  const auto experts = static_cast<std::int32_t>(load.size());
  const auto gpus = static_cast<std::int32_t>(s_.cluster.node.gpus);
  EplbShape shape{experts + ep * static_cast<std::int32_t>(x.redundant), 1, ep % gpus == 0 ? ep / gpus : 1, ep};
  if (check_eplb(shape, experts)) shape.num_nodes = 1;
  return eplb(load, shape);
}

void MigratingLoads::look(std::int64_t step) {
  std::vector<Duration> busy(static_cast<std::size_t>(s_.parallelism.pp));
  bool any = false;
  for (std::size_t layer = 0; layer < placement_.size(); ++layer) {
    const std::span<const double> load = step_->expert_shares(static_cast<std::int64_t>(layer));
    const double before = max_over_mean(gpu_loads(placement_[layer], load));
    if (before <= s_.expert_migration.trigger) continue;
    ExpertPlacement next = anew(placement_[layer], load);
    const double after = max_over_mean(gpu_loads(next, load));
    if (after >= before) continue;
    busy[position_[layer]] += per_expert_ * received(placement_[layer], next);
    placement_[layer] = std::move(next);
    moved_[layer] = any = true;
    ++sums_.moves;
    sums_.ratio_before += before;
    sums_.ratio_after += after;
  }
  if (!any) return;
  const Duration length = *std::max_element(busy.begin(), busy.end());
  ++sums_.steps;
  sums_.pause += length;
  pauses_.push_back({step, length});
}

void MigratingLoads::prepare(std::int64_t step) {
  if (step_ && step_->step() == step) return;
  if (step_ && step - last_look_ >= s_.expert_migration.every) {
    look(step);
    last_look_ = step;
  }
  step_ = step_ && step_->step() + 1 == step ? model_.next(*step_) : model_.prepare(step);
  for (std::size_t layer = 0; layer < placement_.size(); ++layer)
    if (moved_[layer]) step_->place(static_cast<std::int64_t>(layer), placement_[layer].expert_at);
}

RoutedRows MigratingLoads::rank_loads(std::int64_t step, std::int32_t moe_layer, std::int32_t micro_batch,
                                      std::int32_t ep_group, std::span<std::int32_t> out) const {
  TSL_CHECK(step_ && step_->step() == step);
  return step_->rank_loads(moe_layer, micro_batch, ep_group, out);
}

} // namespace tessella
