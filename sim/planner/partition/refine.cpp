#include "sim/planner/partition/refine.h"

#include <algorithm>

namespace tessella {

std::vector<Partition> one_layer_moves(const Partition& from) {
  const auto stages = from.stages.size();
  const bool may_empty =
      std::any_of(from.stages.begin(), from.stages.end(), [](const StageContent& s) { return s.num_layers == 0; });
  std::vector<Partition> moves;
  for (std::size_t giver = 0; giver < stages; ++giver) {
    if (from.stages[giver].num_layers <= (may_empty ? 0 : 1)) continue;
    for (std::size_t taker = 0; taker < stages; ++taker) {
      if (taker == giver) continue;
      Partition p = from;
      --p.stages[giver].num_layers;
      ++p.stages[taker].num_layers;
      std::int32_t first = 0;
      for (StageContent& s : p.stages) {
        s.first_layer = first;
        first += s.num_layers;
      }
      moves.push_back(std::move(p));
    }
  }
  return moves;
}

Refinement refine(const Partition& start, Duration start_time, const RefineCosts& costs, std::int32_t rounds,
                  std::size_t simulated_per_round) {
  Refinement best{start, start_time, 0};
  for (std::int32_t round = 0; round < rounds; ++round) {
    std::vector<std::pair<Duration, Partition>> ranked;
    for (Partition& p : one_layer_moves(best.partition))
      if (const auto estimate = costs.estimate(p)) ranked.emplace_back(*estimate, std::move(p));
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (ranked.size() > simulated_per_round) ranked.resize(simulated_per_round);
    std::vector<Partition> tried;
    for (auto& [estimate, p] : ranked) tried.push_back(std::move(p));
    const std::vector<Duration> times = costs.simulate(tried);
    best.simulations += static_cast<std::int64_t>(times.size());
    const auto fastest = std::min_element(times.begin(), times.end());
    if (fastest == times.end() || *fastest >= best.step_time) break;
    best.step_time = *fastest;
    best.partition = tried[static_cast<std::size_t>(fastest - times.begin())];
  }
  return best;
}

} // namespace tessella
