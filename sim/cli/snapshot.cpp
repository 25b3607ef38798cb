#include "sim/cli/snapshot.h"

#include <fmt/format.h>

#include <map>

#include "sim/base/sha256.h"
#include "sim/domain/plan.h"
#include "sim/exec/lower.h"
#include "sim/planner/simulate.h"
#include "sim/report/format.h"

namespace tessella {
namespace {

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

// Which stages run a template: "2F".
std::map<std::int32_t, std::string> template_names(const Program& program) {
  std::map<std::int32_t, std::string> names;
  for (std::size_t stage = 0; stage < program.stage_templates.size(); ++stage)
    for (std::size_t kind = 0; kind < program.stage_templates[stage].size(); ++kind)
      names.emplace(program.stage_templates[stage][kind],
                    fmt::format("{}{}", stage, letter(static_cast<ActionKind>(kind))));
  return names;
}

void add_pairs(Snapshot& s, const Program& program) {
  const auto names = template_names(program);
  for (const auto& [pair, index] : program.pair_templates) {
    std::string order;
    for (const Op& op : program.templates[static_cast<std::size_t>(index)].ops)
      order += fmt::format("{}:{} ", op.half, program.op_names[static_cast<std::size_t>(op.name)]);
    const auto first = names.find(pair.first);
    const auto second = names.find(pair.second);
    if (first == names.end() || second == names.end()) continue;
    s[Artefact::bubbles].texts.emplace_back(fmt::format("pairs.({};{})", first->second, second->second),
                                            sha256_hex(order).substr(0, 12));
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
      {"hfu", r.hfu},
      {"memory_peak_bytes", static_cast<double>(fullest(r.memory).peak().count)},
  };
}

} // namespace

Snapshot snapshot_of(const Scenario& scenario, const RunResult& r) {
  Snapshot s;
  s.inputs = scenario.inputs;
  ArtefactValues& imbalance = s[Artefact::imbalance];
  imbalance.texts = {{"layout", to_layout(scenario.partition)}};
  imbalance.numbers = {{"stage_imbalance", r.stage_imbalance},
                       {"load_imbalance_mean", r.load_imbalance_mean},
                       {"load_imbalance_max", r.load_imbalance_max}};
  for (std::size_t i = 0; i < r.stages.size(); ++i) {
    imbalance.numbers.emplace_back(fmt::format("stages.{}.forward_s", i), to_seconds(r.stages[i].forward));
    imbalance.numbers.emplace_back(fmt::format("stages.{}.backward_s", i), to_seconds(r.stages[i].backward));
  }
  s[Artefact::bubbles].texts = {{"schedule", scenario.schedule.name}};
  s[Artefact::fabric].numbers = {{"ep_hidden_fraction", r.ep_hidden_fraction}};
  add_ledger(s, r);
  if (!is_uniform(scenario.profile)) {
    add_costs(s, scenario);
    add_pairs(s, lower_step(scenario, schedule_of(scenario)).program);
  }
  add_totals(s, r);
  return s;
}

} // namespace tessella
