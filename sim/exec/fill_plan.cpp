#include "sim/exec/fill_plan.h"

#include <algorithm>
#include <numeric>

#include "sim/engine/clocks.h"
#include "sim/exec/data_parallel.h"
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

// When the gradients of each chunk are complete.
std::vector<Time> gradients_ready(const Program& program, Group& group, const Position& position) {
  const std::size_t n = group.clock.size();
  std::vector<Time> ready;
  for (std::size_t c = 0; c < position.chunks.size(); ++c)
    ready.push_back(program.overlap_grad_reduce ? latest(std::span(group.gradients_ready).subspan(c * n, n))
                                                : latest(group.clock));
  return ready;
}

Duration reduction(const ChunkSync& chunk) {
  return chunk.dense_reduce + chunk.expert_reduce;
}

// From the end of the step back: when reductions must begin at the latest.
std::vector<std::vector<Duration>> gradient_slack(const Program& program, Replica& replica) {
  std::vector<std::vector<Time>> ready;
  std::vector<std::vector<std::size_t>> order;
  Time end;
  for (std::size_t p = 0; p < program.positions.size(); ++p) {
    const Position& position = program.positions[p];
    ready.push_back(gradients_ready(program, replica.groups()[p], position));
    order.push_back(completion_order(program.schedule.ranks[p], position));
    Time lane;
    for (const std::size_t c : order[p])
      lane = max(lane, ready[p][c] - position.chunks[c].reduce_lead) + reduction(position.chunks[c]);
    end = max(end, max(lane, latest(replica.groups()[p].clock)));
  }
  std::vector<std::vector<Duration>> slack;
  for (std::size_t p = 0; p < program.positions.size(); ++p) {
    const Position& position = program.positions[p];
    slack.emplace_back(position.chunks.size());
    Time begin = end;
    for (auto c = order[p].rbegin(); c != order[p].rend(); ++c) {
      begin = begin - reduction(position.chunks[*c]);
      slack[p][*c] = max(Duration{}, min(begin + position.chunks[*c].reduce_lead, end) - ready[p][*c]);
    }
  }
  return slack;
}

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
  plan.slack = gradient_slack(exact, replica);
  return plan;
}

} // namespace tessella
