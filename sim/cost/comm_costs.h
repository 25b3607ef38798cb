// Collectives as op details: the cost of sim/cost/collective.h with the bytes a rank sends (layer_costs, section 7).
// Missing profile rows are collected, not thrown, so that one run lists them all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "sim/cost/collective.h"
#include "sim/cost/layer_ops.h"

namespace tessella {

// Dispatch or combine of one MoE layer, tokens in bf16.
ExpertTraffic expert_traffic(const Scenario& scenario, const MoeFfn& moe);

class CommCosts {
 public:
  explicit CommCosts(const Scenario& scenario);

  // `size` in nccl-tests' sense: the full (gathered, unreduced) buffer of one rank; send_recv: the message.
  OpDetail collective(const std::string& name, Collective c, GroupKind group, double size);
  OpDetail collective(const std::string& name, Collective c, const GroupSpan& span, double size);
  // Expert dispatch or combine when the hottest rank receives `tokens` routed rows.
  OpDetail expert(const std::string& name, bool is_combine, const ExpertTraffic& traffic, std::int64_t tokens);

  const GroupSpan& span(GroupKind group);
  // Of the widest hop to the next pipeline rank; one rank when PP = 1. O(world).
  GroupSpan widest_hop() const;

  std::int64_t expert_sms() const;
  const std::set<std::string>& missing() const { return missing_; }

 private:
  template <class Evaluate>
  Duration guarded(Evaluate evaluate);

  const Scenario& scenario_;
  std::optional<CollectiveModel> model_; // nothing when the profile does not cover the cluster
  std::map<GroupKind, GroupSpan> spans_; // as asked for: finding one costs O(world)
  std::set<std::string> missing_;
};

} // namespace tessella
