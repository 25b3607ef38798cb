#include "sim/planner/search/piper.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessella {
namespace {

double d(std::int64_t x) {
  return static_cast<double>(x);
}

} // namespace

std::optional<PiperInputs> piper_inputs(const Model& m, std::int64_t seq_length) {
  for (const LayerKind& kind : m.kinds) {
    const MoeFfn* moe = moe_of(kind);
    if (moe == nullptr) continue;
    PiperInputs in;
    in.model.hidden_size = m.hidden_size;
    in.model.num_layers = m.num_layers();
    in.model.seq_length = seq_length;
    in.model.num_experts = moe->num_experts;
    in.model.router_topk = moe->router_topk;
    in.model.ffn_hidden_size = moe->moe_ffn_hidden_size;
    if (const auto* gqa = std::get_if<GroupedQueryAttention>(&kind.attention)) in.model.heads = gqa->heads;
    if (const auto* mla = std::get_if<MultiLatentAttention>(&kind.attention)) in.model.heads = mla->heads;
    in.expert_matrices = moe->gated ? 3 : 2;
    return in;
  }
  return std::nullopt;
}

double piper_memory(const PiperModel& m, const PiperCluster& cluster, const PiperPlan& plan, std::int64_t stage) {
  const double hidden = d(m.hidden_size);
  const double seq = d(m.seq_length);
  const double batch = d(m.global_batch) / d(plan.micro_batches); // sequences of one micro-batch
  const double ranks = d(plan.ep);
  const double attention_state = 64.0 * hidden * hidden;
  const double expert_state = 48.0 * d(m.num_experts) / ranks * hidden * d(m.ffn_hidden_size);
  double attention = 12.0 * batch * seq * hidden;
  if (!cluster.flash_attention) attention += 4.0 * batch * d(m.heads) * seq * seq;
  if (cluster.per_rank_tokens) attention /= ranks;
  const double experts = 2.0 * batch * seq * d(m.router_topk) / ranks * (3.0 * d(m.ffn_hidden_size) + hidden);
  const double in_flight = d(plan.pp - stage);
  return d(m.num_layers) / d(plan.pp) * (attention_state + expert_state + in_flight * (attention + experts));
}

double piper_all_to_all(const PiperModel& m, const PiperCluster& cluster, const PiperPlan& plan) {
  return 4.0 * d(m.global_batch) * d(m.seq_length) * d(m.router_topk) * d(m.hidden_size) /
         (d(plan.ep) * cluster.nic_bytes_per_s);
}

PiperEstimate piper_estimate(const PiperModel& m, const PiperCluster& cluster, const PiperPlan& plan, double rate,
                             std::int64_t expert_matrices) {
  const double hidden = d(m.hidden_size);
  const double tokens = d(m.global_batch) * d(m.seq_length);
  const double weights = 4.0 * hidden * hidden + d(m.router_topk) * d(expert_matrices) * hidden * d(m.ffn_hidden_size);
  const double attention = hidden * d(m.seq_length); // scores and values of a causal token, per 2 FLOPs
  const double flops = 6.0 * tokens * d(m.num_layers) * (weights + attention);
  const double gpus = d(plan.pp) * d(plan.ep);
  PiperEstimate e;
  e.compute_s = flops / (gpus * rate);
  e.all_to_all_s = 2.0 * d(m.num_layers) / d(plan.pp) * piper_all_to_all(m, cluster, plan);
  e.step_s = (1.0 + d(plan.pp - 1) / d(plan.micro_batches)) * (e.compute_s + e.all_to_all_s);
  e.flops_per_gpu = flops / (gpus * e.step_s);
  return e;
}

double fit_rate(std::span<const PiperRun> runs, double peak) {
  const auto surplus = [&](double rate) { // sum of log(predicted / measured), grows with the rate
    double sum = 0.0;
    for (const PiperRun& r : runs)
      sum += std::log(piper_estimate(r.model, r.cluster, r.plan, rate, r.expert_matrices).flops_per_gpu /
                      r.measured_flops_per_gpu);
    return sum;
  };
  double low = 0.0;
  double high = peak;
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (surplus(middle) < 0.0 ? low : high) = middle;
  }
  return high;
}

PiperModel with_widest_batch(PiperModel m, const PiperCluster& cluster, std::int64_t micro_batches,
                             std::int64_t sequences) {
  PiperCluster unlimited = cluster;
  unlimited.capacity_bytes = std::numeric_limits<double>::infinity();
  std::int64_t widest = 1;
  for (const PiperPlan& p : piper_search(m, unlimited, micro_batches).feasible) widest = std::max(widest, p.ep);
  m.global_batch = widest * micro_batches * sequences;
  return m;
}

PiperSearch piper_search(const PiperModel& m, const PiperCluster& cluster, std::int64_t micro_batches) {
  PiperSearch found;
  const std::int64_t gpus = cluster.nodes * cluster.gpus_per_node;
  for (std::int64_t pp = 1; pp <= gpus; ++pp)
    for (std::int64_t ep = 1; ep <= gpus; ++ep) {
      const PiperPlan plan{pp, ep, micro_batches};
      if (pp * ep != gpus) continue;
      ++found.left[0];
      if (m.num_experts % ep != 0) continue;
      ++found.left[1];
      if (pp > m.num_layers) continue;
      ++found.left[2];
      if (ep > cluster.gpus_per_node * cluster.nodes_in_single_hop) continue;
      ++found.left[3];
      if (piper_memory(m, cluster, plan, 0) > cluster.capacity_bytes) continue;
      ++found.left[4];
      found.feasible.push_back(plan);
    }
  return found;
}

} // namespace tessella
