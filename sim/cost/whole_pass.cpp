#include "sim/cost/whole_pass.h"

#include <algorithm>

namespace tessella {
namespace {

constexpr double kParamBytes = 2.0;
constexpr double kGradBytes = 4.0;

using Passes = std::initializer_list<std::vector<OpCost>*>;

OpCost* last_compute(const Passes& passes) {
  OpCost* last = nullptr;
  for (std::vector<OpCost>* pass : passes)
    for (OpCost& op : *pass)
      if (op.cls == OpClass::compute) last = &op;
  return last;
}

void lengthen(const Passes& passes, Duration by, OpDetail why) {
  OpCost* last = last_compute(passes);
  if (last == nullptr || by <= Duration{0}) return;
  why.duration = by;
  last->duration += by;
  last->details.push_back(std::move(why));
  if (last->by_load)
    for (Duration& knot : last->by_load->knots) knot += by;
}

// The same collective over the ranks that share dense parameters and over those that share experts.
OpDetail sharded(const LayerContext& c, Collective kind, double bytes, const ParamCount& params) {
  const Parallelism& p = c.scenario.parallelism;
  const double dense = static_cast<double>(params.tp_sharded / p.tp + params.replicated);
  const double experts = static_cast<double>(params.routed / (p.ep * p.etp));
  OpDetail d = c.comm.collective("shards", kind, GroupKind::dp_cp, bytes * dense);
  if (experts == 0.0) return d;
  const OpDetail e = c.comm.collective("shards", kind, GroupKind::edp, bytes * experts);
  d.duration += e.duration;
  d.bytes += e.bytes;
  return d;
}

void hold_up(const Passes& passes, const OpDetail& comm, double slowdown) {
  Duration work;
  for (const std::vector<OpCost>* pass : passes) work += total(*pass);
  const double slowed = work.seconds() + comm.duration.seconds() * (1.0 - 1.0 / slowdown);
  lengthen(passes, max(comm.duration, round_to_picoseconds(slowed)) - work, comm);
}

} // namespace

void wait_for_host(std::initializer_list<std::vector<OpCost>*> passes, const OpDetail& host, bool exchanges_hidden) {
  Duration busy;
  std::int64_t issued = 0;
  for (std::vector<OpCost>* pass : passes)
    for (OpCost& op : *pass) {
      issued += std::count_if(op.details.begin(), op.details.end(),
                              [](const OpDetail& d) { return d.duration > Duration{0} || d.bytes > 0.0; });
      if (!exchanges_hidden || op.cls != OpClass::ep) busy += op.duration;
    }
  lengthen(passes, host.duration * issued - busy, host);
}

bool shards_params(const Profile& profile) {
  return profile.find("sharded_params") != nullptr;
}

void gather_shards(OpChain& chain, const LayerContext& c, const ParamCount& params) {
  const ProfileEntry* row = c.scenario.profile.find("sharded_params");
  if (row == nullptr) return;
  const double slowdown = factor_value(*row);
  const OpDetail gather = sharded(c, Collective::all_gather, kParamBytes, params);
  OpDetail both = sharded(c, Collective::reduce_scatter, kGradBytes, params);
  both.duration += gather.duration;
  both.bytes += gather.bytes;
  hold_up({&chain.forward}, gather, slowdown);
  hold_up({&chain.backward, &chain.wgrad}, both, slowdown);
}

} // namespace tessella
