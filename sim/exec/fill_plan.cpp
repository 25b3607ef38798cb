#include "sim/exec/fill_plan.h"

#include <algorithm>
#include <numeric>

#include "sim/engine/clocks.h"
#include "sim/exec/replica.h"

namespace tessella {
namespace {

// The same tokens for every rank of a group.
class BalancedLoads final : public LoadSource {
 public:
  explicit BalancedLoads(const LoadSource& of) : of_(of) {}
  void prepare(std::int64_t) override {}
  RoutedRows rank_loads(std::int64_t step, std::int32_t moe_layer, std::int32_t micro_batch, std::int32_t ep_group,
                        std::span<std::int32_t> out) const override {
    const RoutedRows rows = of_.rank_loads(step, moe_layer, micro_batch, ep_group, out);
    const std::int64_t sum = std::accumulate(out.begin(), out.end(), std::int64_t{0});
    std::fill(out.begin(), out.end(), static_cast<std::int32_t>(sum / static_cast<std::int64_t>(out.size())));
    return rows;
  }

 private:
  const LoadSource& of_;
};

} // namespace

FillPlan make_fill_plan(const Program& program, const LoadSource* loads, std::int64_t step) {
  Program exact = program;
  exact.kernel_jitter = 0.0;
  exact.fabric_jitter = 0.0;
  std::optional<BalancedLoads> balanced;
  if (loads) balanced.emplace(*loads);
  FillPlan plan;
  for (const auto& slots : program.schedule.ranks) plan.message_wait.emplace_back(2 * slots.size());
  Replica replica(exact, balanced ? &*balanced : nullptr);
  replica.note_message_waits(&plan.message_wait);
  replica.run(step, 0, 0, nullptr, {});
  for (const Group& g : replica.groups()) plan.deadline.push_back(latest(g.clock));
  return plan;
}

} // namespace tessella
