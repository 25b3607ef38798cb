#include "sim/planner/compare_schedules.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.h"
#include "sim/domain/legality.h"
#include "sim/planner/partition/baselines.h"
#include "sim/planner/simulate.h"
#include "sim/schedule/table.h"

namespace tessella {
namespace {

ScheduleSpec spec_of(const ScheduleInfo& info, const ScheduleSpec& given) {
  ScheduleSpec spec;
  const bool combined = info.name == "combined_1f1b" || info.name == "combined_1f1b_shadow";
  spec.name = info.name;
  spec.microbatch_group_size = given.microbatch_group_size;
  spec.overlap_moe_expert_parallel_comm = combined;
  spec.delay_wgrad_compute = combined && given.delay_wgrad_compute;
  return spec;
}

// The scenario under another schedule; what keeps it from that comes back in words.
std::string swap_schedule(const ScheduleInfo& info, ComparisonBasis basis, Scenario& s, ScheduleRow& row) {
  Parallelism& p = s.parallelism;
  const std::int64_t stages = p.num_stages();
  const std::int64_t dp = p.dp();
  p.vpp = std::max<std::int64_t>(p.vpp, info.min_vpp);
  if (info.max_vpp) p.vpp = std::min<std::int64_t>(p.vpp, *info.max_vpp);
  if (basis == ComparisonBasis::stages) {
    if (stages % p.vpp != 0) return fmt::format("{} stages do not divide by {} per rank", stages, p.vpp);
    p.pp = stages / p.vpp;
    p.world_size = p.tp * p.cp * p.pp * dp;
  }
  row.world_size = p.world_size;
  row.pp = p.pp;
  row.vpp = p.vpp;
  row.weights = info.two_directions ? 2 : 1;
  s.schedule = spec_of(info, s.schedule);
  s.imported.reset();
  row.given_layout = p.num_stages() == stages;
  if (!row.given_layout) s.partition = flops_partition(s.model, s.batch.seq_length, s.flops_convention, p.num_stages());
  LayoutSpec layout;
  if (p.pp > 1) layout.layout = to_layout(s.partition);
  LegalityInput in{s.model, p, s.batch, layout, s.schedule, s.recompute};
  in.cluster_gpus = s.cluster.num_gpus();
  in.dispatcher = s.dispatcher;
  const Verdict verdict = check_legality(in, false);
  if (!verdict.legal()) return verdict.violations.front().message;
  const auto illegal =
      check_schedule_spec(s.schedule, static_cast<std::int32_t>(p.pp), static_cast<std::int32_t>(p.vpp),
                          static_cast<std::int32_t>(s.num_micro_batches()));
  if (!illegal) return "";
  return illegal->rule + (illegal->nearest ? fmt::format("; nearest: {}", *illegal->nearest) : "");
}

void fill_row(const RunResult& r, const Scenario& s, ScheduleRow& row) {
  const auto total = static_cast<double>(r.ledger_sum.total().ps);
  const auto share = [&](std::initializer_list<Share> parts) {
    Duration sum;
    for (const Share part : parts) sum += r.ledger_sum[part];
    return total == 0.0 ? 0.0 : static_cast<double>(sum.ps) / total;
  };
  row.step_time = r.step_time;
  row.tokens_per_s_per_gpu = r.tokens_per_s_per_gpu;
  row.bubble = share({Share::bubble_warmup, Share::bubble_drain, Share::bubble_dependency});
  row.exposed = share({Share::exposed_ep, Share::exposed_tp, Share::exposed_cp, Share::exposed_pp, Share::exposed_dp});
  row.fits = r.memory.fits;
  for (const RankMemory& rank : r.memory.ranks) {
    row.peak_memory = std::max(row.peak_memory, rank.peak());
    row.in_flight = std::max(row.in_flight, rank.in_flight_chunks / static_cast<double>(s.parallelism.vpp));
  }
}

} // namespace

ScheduleComparison compare_schedules(const Scenario& scenario, std::span<const std::string> names,
                                     ComparisonBasis basis, const RunOptions& options) {
  ScheduleComparison c{scenario.name,
                       basis,
                       scenario.parallelism.num_stages(),
                       scenario.parallelism.world_size,
                       scenario.num_micro_batches(),
                       {}};
  for (const std::string& name : names) {
    const ScheduleInfo* info = find_schedule(name);
    if (info == nullptr)
      throw InputError("--schedules", check_schedule_spec({name, {}, false, false, {}}, 1, 1, 1)->rule);
    ScheduleRow row;
    row.name = info->name;
    Scenario s = scenario;
    row.problem = swap_schedule(*info, basis, s, row);
    if (row.problem.empty()) fill_row(simulate(s, options), s, row);
    c.rows.push_back(std::move(row));
  }
  return c;
}

} // namespace tessella
