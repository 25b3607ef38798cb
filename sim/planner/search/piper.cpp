#include "sim/planner/search/piper.h"

namespace tessella {
namespace {

double d(std::int64_t x) {
  return static_cast<double>(x);
}

} // namespace

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
