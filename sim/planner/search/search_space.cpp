// What a configuration search tries (search.h).
#include <algorithm>

#include "sim/planner/search/search.h"

namespace tessella {
namespace {

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= n; ++d)
    if (n % d == 0) all.push_back(d);
  return all;
}

std::vector<std::int64_t> powers_of_two(std::int64_t limit) {
  std::vector<std::int64_t> all;
  for (std::int64_t p = 1; p <= limit; p *= 2) all.push_back(p);
  return all;
}

// Context parallelism is for long sequences: a rank keeps at least 4,096 tokens of one.
std::int64_t max_cp(const Scenario& s) {
  return std::max<std::int64_t>(1, s.batch.seq_length / 4096);
}

std::int64_t num_experts(const Model& model) {
  for (const LayerKind& kind : model.kinds)
    if (const MoeFfn* moe = moe_of(kind)) return moe->num_experts;
  return 1;
}

// Nothing, the usual cheap modules (or those of the scenario), everything.
std::vector<Recompute> recomputes(const Scenario& s) {
  Recompute selective{RecomputeGranularity::selective, {RecomputeModule::moe_act, RecomputeModule::layernorm}};
  if (s.recompute.granularity == RecomputeGranularity::selective) selective = s.recompute;
  if (!s.model.has_moe()) selective.modules = {RecomputeModule::layernorm};
  return {Recompute{}, selective, Recompute{RecomputeGranularity::full, {}}};
}

// 1F1B, interleaved where there are chunks, each with and without expert overlap.
std::vector<ScheduleSpec> schedules(const Scenario& s, const Parallelism& p) {
  ScheduleSpec spec;
  spec.name = p.vpp > 1 ? "interleaved_1f1b" : "1f1b";
  std::vector<ScheduleSpec> all = {spec};
  if (!s.model.has_moe() || p.ep == 1) return all;
  spec.overlap_moe_expert_parallel_comm = true;
  all.push_back(spec);
  return all;
}

std::vector<Parallelism> grids(const Scenario& s, const SearchOptions& options) {
  const std::int64_t world = s.parallelism.world_size;
  std::vector<Parallelism> all;
  Parallelism p = s.parallelism;
  for (p.tp = 1; p.tp <= s.cluster.node.gpus; ++p.tp) {
    if (s.cluster.node.gpus % p.tp != 0) continue;
    for (const std::int64_t cp : powers_of_two(max_cp(s)))
      for (const std::int64_t pp : divisors(world)) {
        p.cp = cp;
        p.pp = pp;
        if (world % (p.tp * cp * pp) != 0 || pp > s.model.num_layers()) continue;
        for (p.vpp = 1; p.vpp <= (pp == 1 ? 1 : options.max_vpp); ++p.vpp)
          for (const std::int64_t ep : divisors(num_experts(s.model)))
            for (const std::int64_t etp : {std::int64_t{1}, p.tp}) {
              p.ep = ep;
              p.etp = etp;
              if (etp > 1 && (ep == 0 || !s.model.has_moe())) continue;
              if (etp == 1 && p.tp == 1 && !all.empty() && all.back() == p) continue;
              if (world % (etp * ep * pp) != 0) continue;
              p.sequence_parallel = p.tp > 1;
              all.push_back(p);
            }
      }
  }
  return all;
}

} // namespace

std::vector<Configuration> search_space(const Scenario& scenario, const SearchOptions& options) {
  std::vector<Configuration> all;
  for (const Parallelism& p : grids(scenario, options))
    for (const std::int64_t mbs : powers_of_two(options.max_micro_batch_size))
      for (const Recompute& recompute : recomputes(scenario))
        for (const ScheduleSpec& schedule : schedules(scenario, p)) all.push_back({p, mbs, recompute, schedule});
  return all;
}

} // namespace tessella
