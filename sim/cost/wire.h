// What the links alone make of a collective: bytes over the bottleneck of each tier, and link latencies in sequence.
// No software, no protocol: the bound that no measurement beats. Closed forms, O(1) at any size; sim/topology/traffic.h
// is their exact counterpart on a graph.
//
// Notation: n ranks on N nodes with g ranks per node, S = nccl-tests' size, beta = scale-up bandwidth of a GPU,
// nu = NIC bandwidth of a GPU = nics/gpus * nic, m = nodes of the group per leaf group, o = oversubscription.
// Every GPU is taken to run the same collective in a group of its own kind at the same time (a training step does), so
// a GPU gets its share of NICs and uplinks and no more.
//
//   all_gather, reduce_scatter   S (n-1)/n on beta, or across nodes on min(beta, g nu min(1, m/o)): g rings, each on
//                                its own rail; one of m node-to-node hops leaves the leaf group
//   all_reduce                   twice that
//   all_to_all                   node leg   S (g-1)/n on beta; on a rail fabric S (g-1)/g, since what changes rail
//                                           crosses the scale-up switch first
//                                fabric leg S (n-g)/n on nu, of which S (n-gm)/n also on nu/o
//                                so busbw = (n-1)/(n-g) nu when the NIC is the bottleneck
//   send_recv                    S on beta, or on nu min(1, m/o)
//
// Dragonfly: o is the taper of a group's global links, injection / ((groups-1) links_per_group_pair global_link), with
// adaptive routing over all of them; local links are not a bottleneck.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/base/units.h"
#include "sim/domain/cluster.h"
#include "sim/domain/scenario.h"
#include "sim/topology/groups.h"

namespace tessella {

// size is nccl-tests' size in bytes: the largest buffer of one rank (all_gather: the gathered result; reduce_scatter,
// all_reduce and all_to_all: the input; send_recv: the message).
enum class Collective { all_reduce, all_gather, reduce_scatter, all_to_all, send_recv };
const char* name(Collective c);

// busbw = algbw * factor (nccl-tests, PERFORMANCE.md): all_reduce 2(n-1)/n; all_gather, reduce_scatter, all_to_all
// (n-1)/n; send_recv 1.
double busbw_factor(Collective c, std::int64_t ranks);

// One tier's part of a transfer.
struct Leg {
  std::int64_t ranks = 1; // that take part
  double bytes = 0.0;     // of the busiest rank on this tier
  Bandwidth link;         // its share of the tier's bottleneck
  double latency = 0.0;   // seconds: links traversed in sequence
  double detour = 0.0;    // of which beyond one leaf switch
  double seconds() const { return latency + bytes / link.bytes_per_second; }
};

// The legs of a transfer run at the same time. A rank alone, or an ideal fabric, has none.
struct Legs {
  std::optional<Leg> node;
  std::optional<Leg> fabric;
};

Legs collective_legs(const Cluster& cluster, Collective c, const GroupSpan& span, double size);

// HALO's all-to-all (Piper, arXiv 2605.05049, Algorithm 1): exchange inside the node at the same time as between nodes
// (per NIC, messages to all ranks of a node batched), then hand out inside the node what came from outside.
//   local         S (g-1)/n on beta, g ranks
//   remote        S (n-g)/n on nu, N ranks: one message per node
//   redistribute  S (n-g)/n (g-1)/g on beta, g ranks
// Time = max(local, remote) + redistribute. Inside one node there is only `local`.
struct HaloLegs {
  std::optional<Leg> local;
  std::optional<Leg> remote;
  std::optional<Leg> redistribute;
};
HaloLegs halo_legs(const Cluster& cluster, const GroupSpan& span, double size);

// What an expert dispatch or combine moves.
struct ExpertTraffic {
  std::int64_t hidden_size = 0;
  double bytes_per_element = 2.0; // 2 bf16; 1 + 4/128 fp8 with block scales
  std::int64_t num_experts = 0;
  std::int64_t router_topk = 0;
  std::int64_t topk_groups = 0; // group-limited routing: most nodes a token visits; 0 = unrestricted
  std::int64_t tokens_sent = 0; // per rank, before top-k copies; 0 = what balance would give: tokens / router_topk
};

// Expected copies of one token under uniform routing: K distinct experts of E, spread evenly over the ranks
// (hypergeometric; science: communication volumes, de-duplication).
struct Copies {
  double remote_nodes = 0.0; // distinct nodes other than the sender's
  double ranks = 0.0;        // distinct ranks, the sender's own included
};
Copies expected_copies(const GroupSpan& span, const ExpertTraffic& traffic);

// Legs of a dispatch whose hottest rank receives `tokens` rows (top-k copies counted); a combine is its mirror image.
//   alltoall             an all_to_all of max(tokens, sent * K) rows
//   allgather            an all_gather (combine: reduce_scatter) of every rank's tokens, whatever the routing
//   deepep, hybridep     fabric leg: one copy per distinct remote node, sent * remote_nodes rows, hotter by
//                                    (h + g - 1)/g: the node of the hottest rank, its other ranks average
//                        node leg:   one copy per distinct rank, forwarded by the rank on the sender's rail:
//                                    sent * ranks * (g-1)/g rows, hotter by h
// with h = tokens / (sent * K), at least 1.
Legs expert_legs(const Cluster& cluster, Dispatcher d, bool is_combine, const GroupSpan& span,
                 const ExpertTraffic& traffic, std::int64_t tokens);

} // namespace tessella
