// What a collective costs alone on the topology: as measured, but never faster than the wire.
//
//   leg   = max(wire, measured + detour)
//     wire      link latencies in sequence + bytes / link                                  (sim/cost/wire.h)
//     measured  form `collective` of the profile with the leg's ranks, bytes and link      (kernel_forms.h)
//     detour    latency of the hops beyond one leaf switch, which a measurement under one leaf does not hold
//   time  = max over the legs: scale-up and NICs work at the same time
//
// So a profile's `latency` is the whole latency measured on its tier (not what exceeds the links'), and its
// `efficiency` is relative to the leg's link; a fit that beats the wire is held to it. busbw never exceeds the
// bottleneck link.
//
// Profile entries read (form `collective`; dtype empty):
//   op                                       tier    bytes and link it was fitted with
//   all_reduce, all_gather, reduce_scatter   node    busbw bytes S*factor on the scale-up bandwidth of a GPU
//                                            fabric  busbw bytes on min(scale-up, g * nics/gpus * nic), g ranks per
//                                            node
//   all_to_all                               node    S (g-1)/n on scale-up
//                                            fabric  S (n-g)/n on nics/gpus * nic
//   send_recv                                node    S on scale-up, ranks = 2
//                                            fabric  S on nics/gpus * nic, ranks = 2
//   dispatch_D, combine_D                    both    the legs of expert_legs(); D = alltoall, allgather, deepep,
//   hybridep.
//                                                    `latency` is the fixed cost of one call. Optional plain parameter
//                                                    `sms`: SMs its kernels hold. alltoall and allgather may be left
//                                                    out: all_to_all, all_gather (dispatch), reduce_scatter (combine)
//                                                    stand in.
// `ranks` is n, in the node leg of a transfer that spans nodes g. A cluster of one GPU per node needs no `node`
// entries, one of a single node no `fabric` entries, an ideal one none at all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/cost/wire.h"
#include "sim/domain/cluster.h"
#include "sim/domain/profile.h"
#include "sim/domain/scenario.h"
#include "sim/topology/groups.h"

namespace tessella {

class CollectiveModel {
 public:
  // Wire speed, without a profile: the bound that the links set.
  explicit CollectiveModel(const Cluster& cluster);
  // Throws NotCovered, listing every row, when the profile lacks a plain collective that the cluster needs. Both
  // arguments must outlive the model.
  CollectiveModel(const Cluster& cluster, const Profile& profile);

  // A collective of no bytes still costs its latency; a group of one rank, or an ideal fabric, costs nothing.
  Duration time(Collective c, const GroupSpan& span, Bytes size) const;

  // HALO's all-to-all, with the entries of all_to_all. Batching pays where `latency_per_rank` dominates.
  Duration halo_time(const GroupSpan& span, Bytes size) const;

  // Expert dispatch or combine when the hottest rank receives (combine: sends) `tokens` routed rows, top-k copies
  // counted; balanced = tokens_sent * router_topk. Throws NotCovered when the profile lacks the dispatcher.
  Duration expert_time(Dispatcher d, bool is_combine, const GroupSpan& span, const ExpertTraffic& traffic,
                       std::int64_t tokens) const;

  // SMs a dispatcher's kernels hold while resident; 0 for copy engines, or when the profile does not say.
  std::int64_t expert_sms(Dispatcher d) const;

  // Of the entry that decides a time; `derived` where the links alone decide.
  Provenance provenance(Collective c, const GroupSpan& span) const;
  Provenance expert_provenance(Dispatcher d, const GroupSpan& span) const;

 private:
  double seconds(const Legs& legs, const std::string& op, const std::string& stand_in) const;

  const Cluster* cluster_;
  const Profile* profile_ = nullptr;
};

} // namespace tessella
