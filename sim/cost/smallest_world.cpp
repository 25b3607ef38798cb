// The search behind "smallest world that fits" (sim/cost/memory.h).
#include <fmt/format.h>

#include <algorithm>

#include "sim/cost/memory.h"

namespace tessella {
namespace {

// The whole model's state spread evenly over the pipeline: no partition can do better on its fullest rank.
bool state_may_fit(const Scenario& s) {
  ParamCount sum = vocabulary_params(s.model) * (s.model.tie_embeddings ? 1 : 2);
  for (std::int64_t i = 0; i < s.model.num_layers(); ++i) sum += layer_params(s.model.hidden_size, s.model.layer(i));
  const Parallelism& p = s.parallelism;
  RankParams average;
  average.dense = (sum.tp_sharded / p.tp + sum.replicated) / p.pp;
  average.expert = sum.routed / (p.ep * p.etp * p.pp);
  return model_state(average, p, s.optimizer, Precision::bf16).peak() <= s.profile.gpu.memory;
}

bool fits(const Scenario& base, const Parallelism& p, const Replan& replan, const MemoryAssumptions& assume) {
  if (p.ep * p.etp > p.world_size / p.pp) return false;
  Scenario s = base;
  s.parallelism = p;
  if (!state_may_fit(s)) return false;
  const std::optional<RunPlan> plan = replan(s);
  if (!plan) return false;
  s.partition = plan->partition;
  return memory_report(s, plan->schedule, assume).fits;
}

// This grid grown by dp * pp * tp; EP as it is, and also grown with DP so that experts spread instead of repeating.
std::optional<Parallelism> grown(const Scenario& s, std::int64_t dp, std::int64_t pp, std::int64_t tp,
                                 const Replan& replan, const MemoryAssumptions& assume) {
  Parallelism p = s.parallelism;
  if (tp > 1 && p.tp * tp > s.cluster.node.gpus) return std::nullopt;
  p.world_size *= dp * pp * tp;
  p.pp *= pp;
  p.tp *= tp;
  if (fits(s, p, replan, assume)) return p;
  if (dp == 1 || !s.model.has_moe()) return std::nullopt;
  p.ep *= dp;
  if (fits(s, p, replan, assume)) return p;
  return std::nullopt;
}

} // namespace

std::optional<Parallelism> smallest_fitting_world(const Scenario& scenario, const Replan& replan,
                                                  const MemoryAssumptions& assume, std::int64_t max_factor) {
  for (std::int64_t factor = 2; factor <= max_factor; ++factor)
    for (std::int64_t dp = factor; dp >= 1; --dp) {
      if (factor % dp != 0) continue;
      for (std::int64_t pp = factor / dp; pp >= 1; --pp) {
        if (factor / dp % pp != 0) continue;
        if (const auto p = grown(scenario, dp, pp, factor / dp / pp, replan, assume)) return p;
      }
    }
  return std::nullopt;
}

MemoryReport check_memory(const Scenario& scenario, const Schedule& schedule, const Replan& replan,
                          const MemoryAssumptions& assume, std::int64_t max_factor) {
  MemoryReport report = memory_report(scenario, schedule, assume);
  if (report.fits) return report;
  if (const auto p = smallest_fitting_world(scenario, replan, assume, max_factor)) {
    report.smallest_world = p->world_size;
    report.smallest_world_plan = fmt::format("TP {}, PP {}, DP {}", p->tp, p->pp, p->dp());
    if (p->cp > 1) report.smallest_world_plan += fmt::format(", CP {}", p->cp);
    if (scenario.model.has_moe()) report.smallest_world_plan += fmt::format(", EP {}", p->ep);
  }
  return report;
}

} // namespace tessella
