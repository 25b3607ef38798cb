#include "sim/ledger/summarize.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <span>

#include "sim/base/check.h"
#include "sim/ledger/step_statistics.h"

namespace tessella {
namespace {

// Linear interpolation between order statistics.
Duration quantile(std::vector<Duration> sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  return {sorted[below].ps + std::llround(part * static_cast<double>((sorted[above] - sorted[below]).ps))};
}

std::int64_t counted_steps(const RunRecords& records) {
  return static_cast<std::int64_t>(records.steps.size()) - records.warm_up;
}

void fill_times(const RunRecords& records, RunResult& result) {
  Duration total;
  for (const StepRecord& step : std::span(records.steps).subspan(static_cast<std::size_t>(records.warm_up))) {
    result.step_times.push_back(step.makespan);
    total += step.makespan;
    result.ledger_sum += step.ledger_sum;
  }
  result.warm_up = records.warm_up;
  const std::int64_t steps = counted_steps(records);
  result.step_time = {(total.ps + steps / 2) / steps};
  std::vector<Duration> sorted = result.step_times;
  std::sort(sorted.begin(), sorted.end());
  const MeanEstimate mean = estimate_mean(result.step_times);
  result.step_time_ci95 = mean.half_width;
  result.correlation_steps = mean.correlation_steps;
  result.precise = records.enough;
  result.step_time_p05 = quantile(sorted, 0.05);
  result.step_time_p95 = quantile(sorted, 0.95);
}

void fill_throughput(const Scenario& s, const StepFlops& flops, RunResult& result) {
  const double seconds = result.step_time.seconds();
  const auto gpus = static_cast<double>(s.parallelism.world_size);
  const double tokens = static_cast<double>(s.batch.global_batch_size) * static_cast<double>(s.batch.seq_length);
  result.model_flops = flops.model;
  result.hardware_flops = flops.hardware;
  if (seconds <= 0.0) return;
  result.tokens_per_s_per_gpu = tokens / seconds / gpus;
  result.tflops_per_gpu = flops.model.count / seconds / gpus * 1e-12;
  const double peak = s.profile.gpu.bf16_peak.flops_per_second;
  if (peak <= 0.0) return;
  result.mfu = flops.model.count / (seconds * gpus * peak);
  result.hfu = flops.hardware.count / (seconds * gpus * peak);
}

void fill_stages(const Scenario& s, const RunRecords& records, RunResult& result) {
  const std::int64_t per_stage =
      counted_steps(records) * s.num_micro_batches() * s.parallelism.replicas() * s.parallelism.group_size();
  double sum = 0.0;
  double most = 0.0;
  for (std::size_t i = 0; i < records.sums.stage_forward.size(); ++i) {
    const StageTime t{{records.sums.stage_forward[i].ps / per_stage}, {records.sums.stage_backward[i].ps / per_stage}};
    const double both = (t.forward + t.backward).seconds();
    result.stages.push_back(t);
    sum += both;
    most = std::max(most, both);
  }
  if (sum > 0.0) result.stage_imbalance = std::max(0.0, most * static_cast<double>(result.stages.size()) / sum - 1.0);
}

void fill_shares(const RunRecords& records, RunResult& result) {
  result.ep_busy_sum = records.sums.ep_moving;
  const Duration exposed = result.ledger_sum[Share::exposed_ep];
  result.ep_hidden_fraction = result.ep_busy_sum.ps == 0 ? 1.0 : 1.0 - exposed.seconds() / result.ep_busy_sum.seconds();
  if (records.sums.load_samples > 0) {
    result.load_imbalance_mean = records.sums.load_ratio_sum / static_cast<double>(records.sums.load_samples);
    result.load_imbalance_max = records.sums.load_ratio_max;
    result.dropped = records.sums.dropped_sum / static_cast<double>(records.sums.load_samples);
  }
  const auto& busy = records.sums.busy_by_provenance;
  const Duration all =
      std::accumulate(busy.begin(), busy.end(), Duration{}, [](Duration a, Duration b) { return a + b; });
  for (std::size_t p = 0; p < busy.size(); ++p)
    result.provenance[p] = all.ps == 0 ? 0.0 : busy[p].seconds() / all.seconds();
}

Capacity capacity_of(const RunResult& r) {
  Capacity c;
  const auto total = static_cast<double>(std::max<std::int64_t>(1, r.ledger_sum.total().ps));
  const auto part = [&](std::initializer_list<Share> shares) {
    double sum = 0.0;
    for (const Share s : shares) sum += static_cast<double>(r.ledger_sum[s].ps);
    return sum / total;
  };
  using enum Share;
  c.stage_imbalance = r.stage_imbalance;
  c.pipeline_idle = part({bubble_warmup, bubble_drain, bubble_dependency});
  c.lost_to_stages = std::min(part({bubble_dependency}), 1.0 - 1.0 / (1.0 + r.stage_imbalance));
  c.lost_to_routing = part({imbalance});
  c.lost_to_fabric = part({exposed_ep, exposed_tp, exposed_cp, exposed_pp, exposed_dp});
  c.lost_to_schedule = c.pipeline_idle - c.lost_to_stages;
  return c;
}

} // namespace

RunResult summarize(const Scenario& scenario, const RunRecords& records, const StepFlops& flops,
                    const MemoryReport& memory) {
  TSL_CHECK_OP(counted_steps(records), >, 0);
  RunResult result;
  fill_times(records, result);
  fill_throughput(scenario, flops, result);
  fill_stages(scenario, records, result);
  fill_shares(records, result);
  result.capacity = capacity_of(result);
  const std::int64_t rank_steps = scenario.parallelism.world_size * counted_steps(records);
  result.fill = records.sums.fill;
  result.filled_bubble = {result.fill.filled.ps / rank_steps};
  result.fill_overrun = {result.fill.overrun.ps / rank_steps};
  result.rank_rows = records.rank_rows;
  result.memory = memory;
  result.simulated_replicas = records.simulated_replicas;
  result.partial = records.partial;
  result.lanes = {"compute", "tp", "cp", "ep", "dp"};
  result.events = records.events;
  result.flows = records.flows;
  result.sim.events = records.sums.events;
  result.sim.rank_ops = records.sums.rank_ops;
  return result;
}

} // namespace tessella
