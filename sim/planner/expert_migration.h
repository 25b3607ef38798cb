// Loads of a job whose experts move while it runs: before a step, the placement of every MoE layer whose busiest rank
// exceeds the trigger is made anew from the expert loads of the step before, which is all that is known then.
//
//   swap        Piper's swaps (planner/search/expert_placement.h, migrate)
//   replicate   EPLB with redundant slots; where nodes do not divide the group, its global policy
//
// Starts where a plan put the experts. A new placement is taken only if it lowers the busiest rank. What moves is
// traffic: weights and optimizer shard of each expert a rank receives, through its NIC, layer after layer of a pipeline
// rank; the job stands still meanwhile. Slots for replicas are held in memory from the start; what replicas send home
// every step is not charged, as it is for those of a plan (exec/positions.h). Complexity per look: O(MoE layers *
// placement).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/domain/scenario.h"
#include "sim/exec/loads.h"
#include "sim/ledger/result.h"
#include "sim/planner/search/expert_placement.h"
#include "sim/workload/loads.h"

namespace tessella {

class MigratingLoads final : public LoadSource {
 public:
  // The scenario has drawn routing, EP > 1 and a migration method.
  explicit MigratingLoads(const Scenario& scenario);

  void prepare(std::int64_t step) override;
  RoutedRows rank_loads(std::int64_t step, std::int32_t moe_layer, std::int32_t micro_batch, std::int32_t ep_group,
                        std::span<std::int32_t> out) const override;

  struct Pause {
    std::int64_t step = 0;
    Duration length;
  };
  const std::vector<Pause>& pauses() const { return pauses_; }
  const MigrationSums& sums() const { return sums_; }

 private:
  void look(std::int64_t step);
  ExpertPlacement anew(const ExpertPlacement& now, std::span<const double> load) const;

  const Scenario& s_;
  RoutingModel model_;
  std::vector<std::size_t> position_; // [MoE layer] pipeline rank that holds it
  std::vector<ExpertPlacement> placement_;
  std::vector<bool> moved_; // [MoE layer] no longer where it began
  Duration per_expert_;     // one expert through one NIC
  std::optional<StepRouting> step_;
  std::int64_t last_look_ = 0;
  std::vector<Pause> pauses_;
  MigrationSums sums_;
};

} // namespace tessella
