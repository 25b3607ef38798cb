#include "sim/planner/regress/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/base/sha256.h"
#include "sim/domain/plan.h"
#include "sim/exec/lower.h"
#include "sim/planner/make_plan.h"
#include "sim/planner/overlap/pair_candidates.h"
#include "sim/planner/overlap/pair_orders.h"
#include "sim/planner/simulate.h"

namespace tessella {
namespace {

// Rounded once, so that the number is short: 5926400000000 ps are 5.9264.
double to_seconds(Duration d) {
  return static_cast<double>(d.ps) / 1e12;
}

// Ops of one name are added up: a chain may gather twice.
void add_costs(Snapshot& s, const std::string& prefix, const std::vector<OpCost>& ops) {
  for (const bool compute : {true, false}) {
    NamedNumbers& numbers = s[compute ? Artefact::imbalance : Artefact::fabric].numbers;
    std::vector<std::pair<std::string, Duration>> sums; // in order of appearance
    for (const OpCost& op : ops) {
      if ((op.cls == OpClass::compute) != compute) continue;
      auto at = std::find_if(sums.begin(), sums.end(), [&](const auto& sum) { return sum.first == op.name; });
      if (at == sums.end()) at = sums.insert(at, {op.name, Duration{}});
      at->second += op.duration;
    }
    for (const auto& [op, duration] : sums)
      numbers.emplace_back(fmt::format("costs.{}.{}", prefix, op), to_seconds(duration));
  }
}

void add_chain(Snapshot& s, const std::string& kind, const OpChain& chain) {
  add_costs(s, kind + ".forward", chain.forward);
  add_costs(s, kind + ".backward", chain.backward);
  add_costs(s, kind + ".wgrad", chain.wgrad);
}

void add_costs(Snapshot& s, const Scenario& scenario) {
  const ModelOps ops = make_model_ops(scenario);
  for (std::size_t k = 0; k < ops.kinds.size(); ++k) add_chain(s, scenario.model.kinds[k].name, ops.kinds[k]);
  add_chain(s, "embedding", ops.embedding);
  add_chain(s, "head", ops.head);
  add_chain(s, "mtp", ops.mtp_extra);
  NamedNumbers& fabric = s[Artefact::fabric].numbers;
  fabric.emplace_back("p2p_message_bytes", static_cast<double>(ops.p2p_message.count));
  fabric.emplace_back("p2p_latency_s", to_seconds(ops.p2p_latency));
}

// Each distinct pair of chunks once, by the first stages that have it: what it costs, and in which order its tasks run.
void add_pairs(Snapshot& s, const Scenario& scenario, const Schedule& schedule, const AlignRule& align) {
  const ChunkLibrary chunks(scenario, make_model_ops(scenario));
  const StepPairs pairs = order_pairs(scenario.overlap, chunks, scenario.partition, schedule, 1, align);
  const auto chunk_of = [&](std::int32_t stage) {
    return to_text(chunk_spec(scenario.model, scenario.partition.stages[static_cast<std::size_t>(stage)]),
                   scenario.model);
  };
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& [f, b] : overlap_edges(schedule)) {
    const std::pair<std::string, std::string> names{chunk_of(f), chunk_of(b)};
    if (!seen.insert(names).second) continue;
    const auto order = std::find_if(pairs.orders.begin(), pairs.orders.end(), [&](const PairOrder& o) {
      return o.first == names.first && o.second == names.second;
    });
    const std::string pair_name = fmt::format("({}F;{}B)", f, b);
    s[Artefact::imbalance].numbers.emplace_back("pair_costs." + pair_name, to_seconds(order->post_overlap));
    s[Artefact::bubbles].texts.emplace_back("pairs." + pair_name, sha256_hex(to_text(order->plan)).substr(0, 12));
  }
}

void add_ledger(Snapshot& s, const RunResult& r) {
  const auto total = static_cast<double>(r.ledger_sum.total().ps);
  for (int i = 0; i < kNumShares; ++i) {
    const auto share = static_cast<Share>(i);
    const std::string share_name = name(share);
    const bool fabric = share == Share::overlapped || share_name.starts_with("exposed");
    const Artefact artefact = share == Share::imbalance ? Artefact::imbalance
                              : fabric                  ? Artefact::fabric
                                                        : Artefact::bubbles;
    s[artefact].numbers.emplace_back("ledger." + share_name,
                                     total > 0.0 ? static_cast<double>(r.ledger_sum[share].ps) / total : 0.0);
  }
}

void add_totals(Snapshot& s, const RunResult& r) {
  s[Artefact::totals].texts.emplace_back("fits", r.memory.fits ? "yes" : "no");
  s[Artefact::totals].numbers = {
      {"step_time_s", to_seconds(r.step_time)},
      {"step_time_p05_s", to_seconds(r.step_time_p05)},
      {"step_time_p95_s", to_seconds(r.step_time_p95)},
      {"tokens_per_s_per_gpu", r.tokens_per_s_per_gpu},
      {"mfu", r.mfu},
      {"mfu_low", r.mfu * to_seconds(r.step_time) / to_seconds(r.step_time_p95)},
      {"mfu_high", r.mfu * to_seconds(r.step_time) / to_seconds(r.step_time_p05)},
      {"hfu", r.hfu},
      {"memory_peak_bytes",
       static_cast<double>(r.memory.ranks[static_cast<std::size_t>(r.memory.peak_rank)].peak().count)},
  };
}

void add_partition(Snapshot& s, const Scenario& scenario, const RunResult& r) {
  ArtefactValues& imbalance = s[Artefact::imbalance];
  imbalance.texts = {{"layout", to_layout(scenario.partition)}};
  const NamedNumbers measures = {{"stage_imbalance", r.stage_imbalance},
                                 {"load_imbalance_mean", r.load_imbalance_mean},
                                 {"load_imbalance_max", r.load_imbalance_max}};
  imbalance.numbers.insert(imbalance.numbers.end(), measures.begin(), measures.end());
  for (std::size_t i = 0; i < r.stages.size(); ++i) {
    imbalance.numbers.emplace_back(fmt::format("stages.{}.forward_s", i), to_seconds(r.stages[i].forward));
    imbalance.numbers.emplace_back(fmt::format("stages.{}.backward_s", i), to_seconds(r.stages[i].backward));
  }
}

void plan_anew(Snapshot& s, Scenario& scenario, const SnapshotOptions& options) {
  PlanOptions how;
  how.align = options.pairs.align;
  how.threads = options.threads;
  const PlanFile plan = make_plan(scenario, how);
  s[Artefact::imbalance].numbers = {{"plan.step_time_s", to_seconds(plan.best.step_time)},
                                    {"plan.bottleneck_s", to_seconds(plan.best.bottleneck)},
                                    {"plan.lower_bound_s", to_seconds(plan.certificate.lower_bound)}};
  scenario.partition = plan.best.partition;
}

} // namespace

Snapshot take_snapshot(Scenario scenario, const SnapshotOptions& options) {
  Snapshot s;
  s.inputs = scenario.inputs;
  // An experiment that asks for no order of its own gets the planner's.
  if (options.plan && scenario.overlap == OverlapSpec{}) scenario.overlap.scheduler = name(options.pairs.method);
  if (options.plan) plan_anew(s, scenario, options);
  const Schedule schedule = schedule_of(scenario);
  RunOptions run;
  run.threads = options.threads;
  run.stop = options.stop;
  const bool uniform = is_uniform(scenario.profile);
  const RunResult r = simulate(scenario, run, options.pairs.align);
  add_partition(s, scenario, r);
  s[Artefact::bubbles].texts = {{"schedule", scenario.schedule.name}};
  s[Artefact::fabric].numbers = {{"ep_hidden_fraction", r.ep_hidden_fraction}};
  add_ledger(s, r);
  if (!uniform) {
    add_costs(s, scenario);
    add_pairs(s, scenario, schedule, options.pairs.align);
  }
  add_totals(s, r);
  return s;
}

} // namespace tessella
