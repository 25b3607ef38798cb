// What a collective costs alone on the topology: latency + bytes over the bottleneck link, with the profile's measured
// latency, efficiency and saturation per tier. `size` is nccl-tests' size: bytes per rank. busbw never exceeds the
// link.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/units.h"
#include "sim/domain/cluster.h"
#include "sim/domain/profile.h"
#include "sim/domain/scenario.h"
#include "sim/topology/groups.h"

namespace tessella {

enum class Collective { all_reduce, all_gather, reduce_scatter, all_to_all, send_recv };
const char* name(Collective c);

// busbw = algbw * factor (nccl-tests, PERFORMANCE.md): all_reduce 2(n-1)/n; all_gather, reduce_scatter, all_to_all
// (n-1)/n.
double busbw_factor(Collective c, std::int64_t ranks);

// What an expert dispatch or combine moves, per rank.
struct ExpertTraffic {
  std::int64_t hidden_size = 0;
  double bytes_per_element = 2.0; // 2 bf16; 1 + 4/128 fp8 with block scales
  std::int64_t num_experts = 0;
  std::int64_t router_topk = 0;
  std::int64_t topk_groups = 0; // group-limited routing: most nodes a token visits; 0 = unrestricted
};

class CollectiveModel {
 public:
  // Throws NotCovered when the profile lacks a collective that the cluster needs.
  CollectiveModel(const Cluster& cluster, const Profile& profile);

  Duration time(Collective c, const GroupSpan& span, Bytes size) const;

  // Expert all-to-all when the hottest rank receives `tokens` routed rows (top-k copies counted; balanced =
  // tokens_sent * topk). Dispatchers that remove duplicates inside a node (deepep, hybridep) move fewer bytes over
  // NICs.
  Duration expert_time(Dispatcher d, bool is_combine, const GroupSpan& span, const ExpertTraffic& traffic,
                       std::int64_t tokens) const;

  // SMs a dispatcher's kernels hold while resident; 0 for copy engines.
  std::int64_t expert_sms(Dispatcher d) const;
  // The entry that decided a time, for provenance.
  Provenance provenance(Collective c, const GroupSpan& span) const;
  Provenance expert_provenance(Dispatcher d, const GroupSpan& span) const;

 private:
  const Cluster& cluster_;
  const Profile& profile_;
};

} // namespace tessella
