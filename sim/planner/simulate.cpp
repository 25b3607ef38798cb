#include "sim/planner/simulate.h"

#include <algorithm>
#include <optional>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/cost/flops.h"
#include "sim/cost/layer_ops.h"
#include "sim/cost/memory.h"
#include "sim/domain/kernel_forms.h"
#include "sim/domain/legality.h"
#include "sim/exec/lower.h"
#include "sim/exec/routed_loads.h"
#include "sim/ledger/step_statistics.h"
#include "sim/ledger/summarize.h"
#include "sim/planner/expert_migration.h"
#include "sim/planner/over_time.h"
#include "sim/planner/overlap/pair_candidates.h"
#include "sim/planner/overlap/pair_orders.h"
#include "sim/schedule/table.h"

namespace tessella {
namespace {

// The plan a changed grid would get by the default layout; for "which world would fit?".
std::optional<RunPlan> replan(const Scenario& s) {
  const LayoutSpec layout;
  const Verdict verdict =
      check_legality({s.model, s.parallelism, s.batch, layout, s.schedule, s.recompute, s.parallelism.world_size});
  if (!verdict.legal()) return std::nullopt;
  const auto pp = static_cast<std::int32_t>(s.parallelism.pp);
  const auto vpp = static_cast<std::int32_t>(s.parallelism.vpp);
  const auto m = static_cast<std::int32_t>(s.num_micro_batches());
  if (check_schedule_spec(s.schedule, pp, vpp, m)) return std::nullopt;
  return RunPlan{verdict.partition, make_schedule(s.schedule, pp, vpp, m)};
}

// Books the traffic of moved experts; the pause of the sums is that of the steps that count.
MigrationSums charge_migration(const MigratingLoads& loads, std::int64_t ranks, RunRecords& records) {
  MigrationSums sums = loads.sums();
  sums.pause = {};
  for (const MigratingLoads::Pause& p : loads.pauses()) {
    if (p.step >= static_cast<std::int64_t>(records.steps.size())) continue;
    pause(records, static_cast<std::size_t>(p.step), p.length, Share::exposed_ep, ranks);
    if (p.step >= records.warm_up) sums.pause += p.length;
  }
  return sums;
}

} // namespace

Schedule schedule_of(const Scenario& s) {
  if (s.imported) return *s.imported;
  return make_schedule(s.schedule, static_cast<std::int32_t>(s.parallelism.pp),
                       static_cast<std::int32_t>(s.parallelism.vpp), static_cast<std::int32_t>(s.num_micro_batches()));
}

LoweredStep lower_step(const Scenario& scenario, const Schedule& schedule, unsigned threads, const AlignRule& align) {
  if (is_uniform(scenario.profile)) return {lower_uniform(scenario, schedule), {}, std::nullopt};
  const ModelOps ops = make_model_ops(scenario);
  if (overlap_edges(schedule).empty()) return {lower(scenario, schedule, ops), {}, std::nullopt};
  StepPairs pairs =
      order_pairs(scenario.overlap, ChunkLibrary(scenario, ops), scenario.partition, schedule, threads, align);
  Program program = lower(scenario, schedule, ops, pairs.plans);
  return {std::move(program), std::move(pairs.plans), pairs.use};
}

Program lower_in_orders(const Scenario& scenario, const Schedule& schedule, const PairPlans& pairs) {
  if (is_uniform(scenario.profile)) return lower_uniform(scenario, schedule);
  return lower(scenario, schedule, make_model_ops(scenario), pairs);
}

MemoryReport memory_of(const Scenario& scenario, const Schedule& schedule, double hottest_load) {
  MemoryAssumptions assume;
  assume.hot_load = hottest_load;
  return check_memory(scenario, schedule, replan, assume);
}

FillerOptions filler_options(const Scenario& scenario, const Schedule& schedule, double hottest_load) {
  FillerOptions options;
  options.policy = find_fill_policy(scenario.bubble_filler.policy);
  TSL_CHECK(options.policy != nullptr);
  options.pool = scenario.bubble_filler.pool;
  options.decision_cost = scenario.bubble_filler.decision_cost;
  options.defers_wgrad = scenario.bubble_filler.moves(Movable::wgrad);
  if (!options.on()) return options;
  const MemoryReport memory = memory_of(scenario, schedule, hottest_load);
  for (const RankMemory& rank : memory.ranks)
    options.headroom_bytes.push_back(std::max<std::int64_t>(0, memory.capacity.count - rank.peak().count));
  return options;
}

std::function<bool(const std::vector<StepRecord>&)> enough_at(double precision) {
  return [precision](const std::vector<StepRecord>& steps) {
    constexpr std::size_t kFirst = 30;
    constexpr std::size_t kEvery = 10;
    if (steps.size() < kFirst || steps.size() % kEvery != 0) return false;
    std::vector<Duration> times;
    for (const StepRecord& s : steps) times.push_back(s.makespan);
    const MeanEstimate e = estimate_mean(times);
    return static_cast<double>(steps.size()) >= 10.0 * e.correlation_steps &&
           e.half_width.seconds() <= precision * e.mean.seconds();
  };
}

std::optional<PredictionInterval> predict_interval(const Scenario& scenario, const RunResult& result) {
  const std::string runs = scenario.model.has_moe() ? "moe" : "dense";
  const ProfileEntry* whole = scenario.profile.find("step_" + runs);
  if (whole == nullptr || whole->form != "spread" || !whole->residual) return std::nullopt;
  const auto times = [](Duration step, double factor) { return round_to_picoseconds(step.seconds() * factor); };
  const Spread off = spread_of(*whole);
  return PredictionInterval{times(result.step_time_p05, off.low), times(result.step_time_p95, off.high), runs,
                            *whole->residual, whole->source};
}

RunResult simulate(const Scenario& scenario, RunOptions options, const AlignRule& align) {
  options.seed = scenario.seed;
  const bool routed = scenario.model.has_moe() && scenario.parallelism.ep > 1 && !is_uniform(scenario.profile);
  std::unique_ptr<LoadSource> loads;
  MigratingLoads* migrating = nullptr;
  if (routed && scenario.expert_migration.method != MigrationMethod::none) {
    auto moving = std::make_unique<MigratingLoads>(scenario);
    migrating = moving.get();
    loads = std::move(moving);
  } else if (routed) {
    loads = std::make_unique<RoutedLoads>(scenario);
  }
  OverTime run = run_over_time(scenario, loads.get(), options, align);
  if (static_cast<std::int64_t>(run.records.steps.size()) <= run.records.warm_up)
    throw InfeasiblePlan("interrupted before the first step that counts was complete");
  MigrationSums migration;
  if (migrating) migration = charge_migration(*migrating, scenario.parallelism.world_size, run.records);
  const StepFlops flops{model_flops(scenario.model, scenario.batch, scenario.flops_convention),
                        hardware_flops(scenario.model, scenario.batch, scenario.flops_convention, scenario.recompute)};
  RunResult result = summarize(scenario, run.records, flops, run.memory);
  result.phases = run.phases;
  result.replannings = run.replannings;
  result.migration = migration;
  result.pairs = run.pairs;
  result.prediction = predict_interval(scenario, result);
  return result;
}

} // namespace tessella
