// Where rank loads come from while a program runs: a pure function of its arguments. prepare(step) is called once, by
// one thread, before any rank_loads of that step; rank_loads from any thread.
#pragma once

#include <cstdint>
#include <span>

#include "sim/workload/loads.h"

namespace tessella {

class LoadSource {
 public:
  virtual ~LoadSource() = default;
  virtual void prepare(std::int64_t step) = 0;
  // Routed rows received by each EP rank of one EP group, for one MoE layer and micro-batch of one step.
  virtual RoutedRows rank_loads(std::int64_t step, std::int32_t moe_layer, std::int32_t micro_batch,
                                std::int32_t ep_group, std::span<std::int32_t> out) const = 0;
};

} // namespace tessella
