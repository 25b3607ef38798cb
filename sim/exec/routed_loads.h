// Loads from the routing of a scenario (sim/workload).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/domain/scenario.h"
#include "sim/exec/loads.h"
#include "sim/workload/loads.h"

namespace tessella {

class RoutedLoads final : public LoadSource {
 public:
  // The scenario has MoE layers and a legal routing.
  explicit RoutedLoads(const Scenario& scenario);

  void prepare(std::int64_t step) override;
  RoutedRows rank_loads(std::int64_t step, std::int32_t moe_layer, std::int32_t micro_batch, std::int32_t ep_group,
                        std::span<std::int32_t> out) const override;

  // Every EP group of a step receives the same loads.
  bool alike() const { return !model_.drawn(); }

 private:
  RoutingModel model_;
  std::optional<StepRouting> step_;
};

// [MoE layer][EP rank]: rows received over all micro-batches of step 0 by the first EP group, those that the run
// charges. Empty for a dense model. O(layers * micro-batches * EP).
std::vector<std::vector<std::int64_t>> first_step_loads(const Scenario& scenario);

} // namespace tessella
