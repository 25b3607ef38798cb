#include "sim/exec/routed_loads.h"

#include "sim/base/check.h"

namespace tessella {

RoutedLoads::RoutedLoads(const Scenario& s)
    : model_(s.routing, workload_shape(s.model, s.parallelism, s.batch, s.steps), s.seed) {}

void RoutedLoads::prepare(std::int64_t step) {
  if (step_ && step_->step() == step) return;
  step_ = step_ && step_->step() + 1 == step ? model_.next(*step_) : model_.prepare(step);
}

RoutedRows RoutedLoads::rank_loads(std::int64_t step, std::int32_t moe_layer, std::int32_t micro_batch,
                                   std::int32_t ep_group, std::span<std::int32_t> out) const {
  TSL_CHECK(step_ && step_->step() == step);
  return step_->rank_loads(moe_layer, micro_batch, ep_group, out);
}

std::vector<std::vector<std::int64_t>> first_step_loads(const Scenario& s) {
  const WorkloadShape shape = workload_shape(s.model, s.parallelism, s.batch, s.steps);
  if (shape.layers == 0) return {};
  RoutedLoads loads(s);
  loads.prepare(0);
  const auto ranks = static_cast<std::size_t>(shape.ep);
  std::vector<std::vector<std::int64_t>> sums(static_cast<std::size_t>(shape.layers), std::vector<std::int64_t>(ranks));
  std::vector<std::int32_t> rows(ranks);
  for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
    std::vector<std::int64_t>& sum = sums[static_cast<std::size_t>(layer)];
    for (std::int32_t m = 0; m < s.num_micro_batches(); ++m) {
      loads.rank_loads(0, layer, m, 0, rows);
      for (std::size_t r = 0; r < ranks; ++r) sum[r] += rows[r];
    }
  }
  return sums;
}

} // namespace tessella
