#include "sim/exec/routed_loads.h"

#include "sim/base/check.h"

namespace tessella {

RoutedLoads::RoutedLoads(const Scenario& s)
    : model_(s.routing, workload_shape(s.model, s.parallelism, s.batch, s.steps), s.seed) {}

void RoutedLoads::prepare(std::int64_t step) {
  if (step_ && step_->step() == step) return;
  step_ = step_ && step_->step() + 1 == step ? model_.next(*step_) : model_.prepare(step);
}

void RoutedLoads::rank_loads(std::int64_t step, std::int32_t moe_layer, std::int32_t micro_batch, std::int32_t ep_group,
                             std::span<std::int32_t> out) const {
  TSL_CHECK(step_ && step_->step() == step);
  step_->rank_loads(moe_layer, micro_batch, ep_group, out);
}

} // namespace tessella
