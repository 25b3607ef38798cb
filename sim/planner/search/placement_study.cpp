#include "sim/planner/search/placement_study.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/domain/workload_shape.h"
#include "sim/planner/simulate.h"
#include "sim/workload/loads.h"

namespace tessella {
namespace {

PlacementRow study(const std::vector<double>& load, const EplbShape& shape, std::int32_t max_swaps) {
  const auto experts = static_cast<std::int32_t>(load.size());
  const double mean = std::accumulate(load.begin(), load.end(), 0.0) / shape.num_gpus;
  const auto worst = [&](const ExpertPlacement& p) { return max_over_mean(gpu_loads(p, load)); };
  const auto bound = [&](std::int32_t slots) {
    return mean > 0.0 ? placement_lower_bound(load, slots, shape.num_gpus) / mean : 1.0;
  };
  const ExpertPlacement balanced = eplb(load, shape);
  PlacementRow row{worst(balanced), bound(shape.num_replicas), balanced.expert_at, {}};
  if (experts % shape.num_gpus != 0) return row;
  const ExpertPlacement start = contiguous_placement(experts, shape.num_gpus);
  const Migration m = migrate(start, load, max_swaps);
  row.moved = PlacementRow::Moved{worst(start), worst(m.placement), bound(experts),
                                  m.swaps,      m.moved_per_gpu,    m.placement.expert_at};
  return row;
}

// A trace of one iteration per step in which every EP rank gets what a placement gives it.
Scenario with_rank_loads(const Scenario& scenario, const LoadTable& loads,
                         std::span<const ExpertPlacement> placements) {
  constexpr double kScale = 1e9; // shares become whole tokens
  Scenario s = scenario;
  s.routing = {};
  s.routing.kind = RoutingKind::trace;
  RoutingTrace& trace = s.routing.trace;
  trace.iterations = s.steps;
  trace.layers = static_cast<std::int64_t>(loads.size());
  trace.columns = s.parallelism.ep;
  for (std::int64_t step = 0; step < s.steps; ++step)
    for (std::size_t layer = 0; layer < loads.size(); ++layer) {
      const double total = std::accumulate(loads[layer].begin(), loads[layer].end(), 0.0);
      for (const double tokens : gpu_loads(placements[layer], loads[layer]))
        trace.tokens.push_back(std::llround(kScale * tokens / total));
    }
  return s;
}

} // namespace

LoadTable load_table(const Scenario& s) {
  const WorkloadShape shape = workload_shape(s.model, s.parallelism, s.batch, s.steps);
  const RoutingModel model(s.routing, shape, s.seed);
  LoadTable sum(static_cast<std::size_t>(shape.layers),
                std::vector<double>(static_cast<std::size_t>(shape.num_experts), 0.0));
  StepRouting routing = model.prepare(0);
  for (std::int64_t step = 0; step < s.steps; ++step) {
    if (step > 0) routing = model.next(routing);
    for (std::size_t layer = 0; layer < sum.size(); ++layer) {
      const auto shares = routing.expert_shares(static_cast<std::int64_t>(layer));
      for (std::size_t e = 0; e < shares.size(); ++e) sum[layer][e] += shares[e];
    }
  }
  return sum;
}

LoadTable load_table(const RoutingTrace& trace) {
  LoadTable sum(static_cast<std::size_t>(trace.layers),
                std::vector<double>(static_cast<std::size_t>(trace.columns), 0.0));
  for (std::int64_t i = 0; i < trace.iterations; ++i)
    for (std::size_t layer = 0; layer < sum.size(); ++layer) {
      const auto row = trace.row(i, static_cast<std::int64_t>(layer));
      for (std::size_t e = 0; e < row.size(); ++e) sum[layer][e] += static_cast<double>(row[e]);
    }
  return sum;
}

std::vector<PlacementRow> study_placements(const LoadTable& loads, const EplbShape& shape, std::int32_t max_swaps) {
  std::vector<PlacementRow> rows;
  for (const std::vector<double>& load : loads) rows.push_back(study(load, shape, max_swaps));
  return rows;
}

namespace {

LoadTable uneven_loads(const Scenario& scenario) {
  if (scenario.routing.kind == RoutingKind::balanced)
    throw InputError("--experts", "routing is balanced: every placement is as good as any");
  return load_table(scenario);
}

} // namespace

PlanExperts migrated_experts(const Scenario& scenario, std::int32_t max_swaps) {
  PlanExperts experts{"migrated", 0.0, 0.0, {}};
  const LoadTable loads = uneven_loads(scenario);
  const auto slots = static_cast<std::int32_t>(loads.front().size());
  const auto ep = static_cast<std::int32_t>(scenario.parallelism.ep);
  for (const PlacementRow& row : study_placements(loads, {slots, 1, 1, ep}, max_swaps)) {
    experts.load_before += row.moved->contiguous / static_cast<double>(loads.size());
    experts.load_after += row.moved->migrated / static_cast<double>(loads.size());
    experts.expert_at.push_back(row.moved->expert_at);
  }
  return experts;
}

PlanExperts replicated_experts(const Scenario& scenario, std::int32_t slots) {
  PlanExperts experts{"eplb", 0.0, 0.0, {}};
  const LoadTable loads = uneven_loads(scenario);
  const auto count = static_cast<std::int32_t>(loads.front().size());
  const auto ep = static_cast<std::int32_t>(scenario.parallelism.ep);
  const auto gpus = static_cast<std::int32_t>(scenario.cluster.node.gpus);
  EplbShape shape{slots, 1, ep % gpus == 0 ? ep / gpus : 1, ep};
  if (check_eplb(shape, count)) shape.num_nodes = 1;
  if (const auto problem = check_eplb(shape, count)) throw InputError("--replicas", *problem);
  const double layers = static_cast<double>(loads.size());
  for (const std::vector<double>& load : loads) {
    const ExpertPlacement placed = eplb(load, shape);
    experts.load_before += max_over_mean(gpu_loads(contiguous_placement(count, ep), load)) / layers;
    experts.load_after += max_over_mean(gpu_loads(placed, load)) / layers;
    experts.expert_at.push_back(placed.expert_at);
  }
  return experts;
}

PlacementGain simulate_placements(const Scenario& scenario, const LoadTable& loads,
                                  std::span<const ExpertPlacement> placements, unsigned threads) {
  TSL_CHECK_OP(placements.size(), ==, loads.size());
  const auto ep = static_cast<std::int32_t>(scenario.parallelism.ep);
  const std::vector<ExpertPlacement> start(loads.size(),
                                           contiguous_placement(static_cast<std::int32_t>(loads.front().size()), ep));
  RunOptions options;
  options.threads = threads;
  return {simulate(with_rank_loads(scenario, loads, start), options).step_time,
          simulate(with_rank_loads(scenario, loads, placements), options).step_time};
}

} // namespace tessella
