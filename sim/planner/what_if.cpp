#include "sim/planner/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/engine/parallel.h"
#include "sim/planner/search/fit.h"
#include "sim/planner/simulate.h"
#include "sim/schedule/table.h"

namespace tessella {
namespace {

constexpr double kMore = 1.1;

struct Trial {
  std::string change;
  Scenario scenario;
  std::int64_t steps = 1; // the time is divided by it
};

void faster_fabric(Cluster& c) {
  c.node.nic.bandwidth = c.node.nic.bandwidth * kMore;
  c.fabric.leaf_to_spine.bandwidth = c.fabric.leaf_to_spine.bandwidth * kMore;
  c.fabric.local_link.bandwidth = c.fabric.local_link.bandwidth * kMore;
  c.fabric.global_link.bandwidth = c.fabric.global_link.bandwidth * kMore;
}

// Partitions that move one layer between a stage and the next.
std::vector<Trial> layer_moves(const Scenario& base) {
  std::vector<Trial> all;
  for (std::size_t s = 0; s + 1 < base.partition.stages.size(); ++s)
    for (const int by : {1, -1}) {
      Trial t{fmt::format("the best move of one layer, from stage {} to {}", by > 0 ? s + 1 : s, by > 0 ? s : s + 1),
              base};
      StageContent& left = t.scenario.partition.stages[s];
      StageContent& right = t.scenario.partition.stages[s + 1];
      left.num_layers += by;
      right.num_layers -= by;
      right.first_layer += by;
      if (left.num_layers > 0 && right.num_layers > 0) all.push_back(std::move(t));
    }
  return all;
}

// What recomputing nothing would need beyond a GPU's memory, and the time of it.
std::optional<Trial> without_recompute(const Scenario& base) {
  if (base.recompute.granularity == RecomputeGranularity::none) return std::nullopt;
  Trial t{"", base};
  t.scenario.recompute = {};
  const Bytes free = free_memory(t.scenario);
  t.change = free.count >= 0 ? std::string("nothing recomputed, which fits")
                             : fmt::format("nothing recomputed, with {:.1f} GB more memory per GPU",
                                           -static_cast<double>(free.count) / 1e9);
  return t;
}

bool legal(const Scenario& s) {
  return !check_schedule_spec(s.schedule, static_cast<std::int32_t>(s.parallelism.pp),
                              static_cast<std::int32_t>(s.parallelism.vpp),
                              static_cast<std::int32_t>(s.num_micro_batches()));
}

} // namespace

std::vector<PlanWhatIf> what_ifs(const Scenario& scenario, const Partition& partition, unsigned threads) {
  Scenario base = scenario;
  base.partition = partition;
  std::vector<Trial> trials = {{"NICs and fabric links 10 % faster", base},
                               {"scale-up links 10 % faster", base},
                               {"twice the micro-batches, time per former step", base, 2}};
  faster_fabric(trials[0].scenario.cluster);
  Link& scale_up = trials[1].scenario.cluster.node.scale_up;
  scale_up.bandwidth = scale_up.bandwidth * kMore;
  trials[2].scenario.batch.global_batch_size *= 2;
  if (!legal(trials[2].scenario)) trials.pop_back();
  if (auto t = without_recompute(base)) trials.push_back(std::move(*t));
  const std::size_t single = trials.size(); // of the others only the best counts
  for (Trial& t : layer_moves(base)) trials.push_back(std::move(t));
  std::vector<PlanWhatIf> results(trials.size());
  parallel_for(trials.size(), threads, [&](std::size_t i) {
    const Duration step = simulate(trials[i].scenario, {}).step_time;
    results[i] = {trials[i].change, {step.ps / trials[i].steps}};
  });
  const auto best = std::min_element(results.begin() + static_cast<std::ptrdiff_t>(single), results.end(),
                                     [](const auto& a, const auto& b) { return a.step_time < b.step_time; });
  if (best != results.end()) std::iter_swap(results.begin() + static_cast<std::ptrdiff_t>(single), best);
  results.resize(std::min(results.size(), single + 1));
  return results;
}

} // namespace tessella
