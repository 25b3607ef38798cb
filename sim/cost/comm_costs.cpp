#include "sim/cost/comm_costs.h"

#include <fmt/format.h>

#include <array>
#include <tuple>

#include "sim/base/error.h"
#include "sim/cost/kernel_costs.h"

namespace tessella {
namespace {

const char* tier(const GroupSpan& span) {
  return span.nodes > 1 ? "fabric" : "node";
}

Bytes whole(double bytes) {
  return {static_cast<std::int64_t>(bytes + 0.5)};
}

} // namespace

ExpertTraffic expert_traffic(const Scenario& s, const MoeFfn& moe) {
  ExpertTraffic t;
  t.hidden_size = expert_input_size(s.model.hidden_size, moe);
  t.num_experts = moe.num_experts;
  t.router_topk = moe.router_topk;
  t.topk_groups = moe.router_groups > 1 ? moe.router_topk_groups : 0;
  t.tokens_sent = routed_rows(s, moe) / moe.router_topk;
  return t;
}

CommCosts::CommCosts(const Scenario& scenario) : scenario_(scenario) {
  try {
    model_.emplace(scenario.cluster, scenario.profile);
  } catch (const NotCovered& e) {
    missing_.insert(e.missing().begin(), e.missing().end());
  }
}

template <class Evaluate>
Duration CommCosts::guarded(Evaluate evaluate) {
  if (!model_) return {};
  try {
    return evaluate(*model_);
  } catch (const NotCovered& e) {
    missing_.insert(e.missing().begin(), e.missing().end());
    return {};
  }
}

OpDetail CommCosts::collective(const std::string& name, Collective c, GroupKind group, double size) {
  return collective(name, c, span(group), size);
}

OpDetail CommCosts::collective(const std::string& name, Collective c, const GroupSpan& members, double size) {
  OpDetail d;
  d.name = name;
  d.entry = row_name(tessella::name(c), "", tier(members));
  if (members.ranks == 1) return d;
  d.bytes = size * busbw_factor(c, members.ranks);
  d.duration = guarded([&](const CollectiveModel& m) {
    d.provenance = m.provenance(c, members);
    return m.time(c, members, whole(size));
  });
  return d;
}

OpDetail CommCosts::expert(const std::string& name, bool is_combine, const ExpertTraffic& traffic,
                           std::int64_t tokens) {
  const GroupSpan& members = span(GroupKind::ep);
  OpDetail d;
  d.name = name;
  d.entry =
      fmt::format("{}_{} {}", is_combine ? "combine" : "dispatch", tessella::name(scenario_.dispatcher), tier(members));
  const double remote = static_cast<double>(members.ranks - 1) / static_cast<double>(members.ranks);
  d.bytes = static_cast<double>(tokens) * static_cast<double>(traffic.hidden_size) * traffic.bytes_per_element * remote;
  d.duration = guarded([&](const CollectiveModel& m) {
    d.provenance = m.expert_provenance(scenario_.dispatcher, members);
    return m.expert_time(scenario_.dispatcher, is_combine, members, traffic, tokens);
  });
  return d;
}

const GroupSpan& CommCosts::span(GroupKind group) {
  const auto known = spans_.find(group);
  if (known != spans_.end()) return known->second;
  return spans_.emplace(group, span_of(scenario_.cluster, scenario_.parallelism, group)).first->second;
}

GroupSpan CommCosts::widest_hop() const {
  const auto width = [](const GroupSpan& s) { return std::tuple(s.nodes, s.leaves, !s.same_rail); };
  GroupSpan widest;
  for (const std::vector<Rank>& pipeline : groups_of(scenario_.parallelism, GroupKind::pp))
    for (std::size_t i = 0; i + 1 < pipeline.size(); ++i) {
      const GroupSpan hop = span_of_ranks(scenario_.cluster, std::array{pipeline[i], pipeline[i + 1]});
      if (widest.ranks == 1 || width(widest) < width(hop)) widest = hop;
    }
  return widest;
}

std::int64_t CommCosts::expert_sms() const {
  return model_ && scenario_.parallelism.ep > 1 ? model_->expert_sms(scenario_.dispatcher) : 0;
}

} // namespace tessella
