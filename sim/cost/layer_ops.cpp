#include "sim/cost/layer_ops.h"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/base/error.h"
#include "sim/cost/attention_ops.h"
#include "sim/cost/ffn_ops.h"
#include "sim/cost/head_ops.h"
#include "sim/cost/moe_ops.h"
#include "sim/cost/step_costs.h"
#include "sim/cost/whole_pass.h"
#include "sim/domain/workload_shape.h"

namespace tessella {
namespace {

// The heaviest expert all-to-all of the model, as a neighbour of compute: the HBM bytes of one dispatch and one combine
// over their time, at balanced load.
Neighbour expert_neighbour(const Scenario& s, CommCosts& comm) {
  // A kernel left without any SM would never end.
  Neighbour neighbour{std::clamp<std::int64_t>(comm.expert_sms(), 0, std::max<std::int64_t>(1, s.profile.gpu.sms) - 1),
                      0.0};
  if (s.parallelism.ep == 1) return neighbour;
  for (const LayerKind& kind : s.model.kinds) {
    const MoeFfn* moe = moe_of(kind);
    if (moe == nullptr) continue;
    const ExpertTraffic traffic = expert_traffic(s, *moe);
    const std::int64_t rows = routed_rows(s, *moe);
    const double seconds =
        (comm.expert("", false, traffic, rows).duration + comm.expert("", true, traffic, rows).duration).seconds();
    const double delivered = 2.0 * elements(rows, traffic.hidden_size) * traffic.bytes_per_element;
    if (seconds > 0.0) neighbour.hbm_rate = std::max(neighbour.hbm_rate, kHbmPassesPerByte * delivered / seconds);
  }
  return neighbour;
}

std::optional<ContentionFactors> measured_contention(const Scenario& s) {
  const ProfileEntry* entry = s.profile.find("contention");
  if (entry == nullptr || s.parallelism.ep == 1) return std::nullopt;
  return contention_factors(*entry);
}

ContentionModel contention_model(const Scenario& s, CommCosts& comm) {
  ContentionModel model{s.profile.gpu.sms, streaming_bandwidth(s.profile), expert_neighbour(s, comm), {}};
  if (const auto f = measured_contention(s))
    model.measured = ContentionModel::Measured{f->gemm, f->membound, f->norm, f->waiting};
  return model;
}

// The halves of a layer, either of which may be missing.
struct Halves {
  std::optional<AttentionPlan> attention;
  const DenseFfn* dense = nullptr;
  const MoeFfn* moe = nullptr;
};

Halves halves_of(const LayerContext& c, const LayerKind& kind) {
  return {attention_plan(c, kind.attention), std::get_if<DenseFfn>(&kind.ffn), moe_of(kind)};
}

void layer_forward(ChainBuilder& b, const LayerContext& c, const Halves& layer) {
  if (layer.attention) attention_forward(b, c, *layer.attention);
  if (layer.moe != nullptr) moe_forward(b, c, *layer.moe);
  if (layer.dense != nullptr) dense_forward(b, c, *layer.dense);
}

void layer_backward(ChainBuilder& b, const LayerContext& c, const Halves& layer) {
  if (c.recompute.layer) {
    b.prefix("rc_");
    layer_forward(b, c, layer);
    b.cut();
    b.prefix("");
  }
  if (layer.moe != nullptr) moe_backward(b, c, *layer.moe);
  if (layer.dense != nullptr) dense_backward(b, c, *layer.dense);
  if (layer.attention) attention_backward(b, c, *layer.attention);
}

void layer_wgrad(ChainBuilder& b, const LayerContext& c, const Halves& layer) {
  if (layer.moe != nullptr) moe_wgrad(b, c, *layer.moe);
  if (layer.dense != nullptr) dense_wgrad(b, c, *layer.dense);
  if (layer.attention) attention_wgrad(b, c, *layer.attention);
}

template <class Forward, class Backward, class Wgrad>
OpChain make_chain(const LayerContext& c, std::int64_t rows, bool varies, Forward forward, Backward backward,
                   Wgrad wgrad) {
  ChainBuilder f("_fwd", rows, varies, c.kernels.host_op());
  forward(f);
  ChainBuilder b("_bwd", rows, varies, c.kernels.host_op());
  backward(b);
  ChainBuilder w("_wgrad", rows, varies, c.kernels.host_op());
  wgrad(w);
  return {f.take(), b.take(), w.take()};
}

// A layer whose host has lost its lead: it waits for token counts, or it is an attention between layers that do.
bool waits_for_host(const Model& model, const LayerKind& kind) {
  return moe_of(kind) != nullptr || (std::holds_alternative<NoFfn>(kind.ffn) && model.has_moe());
}

OpChain layer_chain(const LayerContext& c, const LayerKind& kind) {
  const Halves layer = halves_of(c, kind);
  const std::int64_t rows = layer.moe == nullptr ? 1 : std::max<std::int64_t>(1, routed_rows(c.scenario, *layer.moe));
  OpChain chain = make_chain(
      c, rows, layer.moe != nullptr && c.scenario.parallelism.ep > 1,
      [&](ChainBuilder& b) { layer_forward(b, c, layer); }, [&](ChainBuilder& b) { layer_backward(b, c, layer); },
      [&](ChainBuilder& b) { layer_wgrad(b, c, layer); });
  if (waits_for_host(c.scenario.model, kind)) {
    const bool hidden = c.scenario.schedule.overlap_moe_expert_parallel_comm;
    wait_for_host({&chain.forward}, c.kernels.host_moe(), hidden);
    wait_for_host({&chain.backward, &chain.wgrad}, c.kernels.host_moe(), hidden);
  }
  gather_shards(chain, c, layer_params(c.hidden, kind));
  return chain;
}

void fill_p2p(ModelOps& ops, const LayerContext& c) {
  const double message = elements(c.n_sp, c.hidden) * kBytesBf16;
  const GroupSpan hop = c.comm.widest_hop();
  const OpDetail whole = c.comm.collective("p2p", Collective::send_recv, hop, message);
  const Duration rest = whole.duration - c.comm.collective("p2p", Collective::send_recv, hop, 0.0).duration;
  ops.p2p_message = {static_cast<std::int64_t>(message)};
  ops.p2p_latency = whole.duration - rest;
  ops.p2p_bandwidth = {rest > Duration{0} ? message / rest.seconds() : std::numeric_limits<double>::infinity()};
  ops.p2p_provenance = whole.provenance;
}

} // namespace

const char* name(Role role) {
  constexpr std::array names = {"attention", "dispatch", "experts", "combine", "wgrad_experts", "wgrad_attention"};
  return names[static_cast<std::size_t>(role)];
}

Flops OpCost::flops() const {
  Flops sum;
  for (const OpDetail& d : details) sum += d.flops;
  return sum;
}

Duration total(const std::vector<OpCost>& ops) {
  Duration sum;
  for (const OpCost& op : ops) sum += op.duration;
  return sum;
}

std::int64_t routed_rows(const Scenario& s, const MoeFfn& moe) {
  const Parallelism& p = s.parallelism;
  const std::int64_t rows = s.tokens_per_tp_group() / (p.sequence_parallel ? p.tp : 1) * moe.router_topk;
  if (!s.routing.capacity_factor) return rows;
  const WorkloadShape sent{1, moe.num_experts, moe.router_topk, 1, rows / moe.router_topk, 1};
  const std::int64_t accepted = *expert_capacity(s.routing, sent) * moe.num_experts;
  return s.routing.pad_to_capacity ? accepted : std::min(rows, accepted);
}

ModelOps make_model_ops(const Scenario& scenario) {
  CommCosts comm(scenario);
  KernelCosts kernels(scenario.profile, scenario.precision, contention_model(scenario, comm));
  const LayerContext c(scenario, kernels, comm);
  ModelOps ops;
  for (const LayerKind& kind : scenario.model.kinds) ops.kinds.push_back(layer_chain(c, kind));
  ops.embedding = make_chain(
      c, 1, false, [&](ChainBuilder& b) { embedding_forward(b, c); },
      [&](ChainBuilder& b) { embedding_backward(b, c); }, [](ChainBuilder&) {});
  ops.head = make_chain(
      c, 1, false, [&](ChainBuilder& b) { head_forward(b, c); }, [&](ChainBuilder& b) { head_backward(b, c); },
      [&](ChainBuilder& b) { head_wgrad(b, c); });
  gather_shards(ops.head, c, vocabulary_params(scenario.model));
  if (scenario.model.mtp_num_layers > 0)
    ops.mtp_extra = make_chain(
        c, 1, false, [&](ChainBuilder& b) { mtp_forward(b, c); }, [&](ChainBuilder& b) { mtp_backward(b, c); },
        [&](ChainBuilder& b) { mtp_wgrad(b, c); });
  fill_p2p(ops, c);
  if (const auto f = measured_contention(scenario)) ops.exchange_beside_compute = f->communication;
  if (scenario.bubble_filler.moves(Movable::checkpoint_hash))
    ops.streaming = kernels.stream("", StreamKernel::copy, 1e9).contention;
  note_step_costs(scenario, kernels, comm);

  std::set<std::string> missing = comm.missing();
  missing.insert(kernels.missing().begin(), kernels.missing().end());
  if (scenario.optimizer.offload && scenario.profile.find("host_link") == nullptr) missing.insert("host_link");
  if (!missing.empty()) throw NotCovered({missing.begin(), missing.end()});
  return ops;
}

} // namespace tessella
