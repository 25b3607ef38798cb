#include "sim/cost/wire.h"

#include <algorithm>
#include <array>

#include "sim/base/check.h"

namespace tessella {
namespace {

double real(std::int64_t n) {
  return static_cast<double>(n);
}

// NIC bandwidth of one GPU when all GPUs of the node use theirs.
double nic_share(const Cluster& c) {
  return c.node.nic.bandwidth.bytes_per_second * real(c.node.nics) / real(c.node.gpus);
}

// Injection of a leaf group over what leaves it.
double oversubscription(const Cluster& c) {
  const FabricSpec& f = c.fabric;
  if (f.kind != FabricKind::dragonfly) return std::max(1.0, f.oversubscription);
  const std::int64_t groups = (c.nodes + f.nodes_per_group - 1) / f.nodes_per_group;
  if (groups < 2) return 1.0;
  const double injection = real(f.nodes_per_group * c.node.nics) * c.node.nic.bandwidth.bytes_per_second;
  const double global = real((groups - 1) * f.links_per_group_pair) * f.global_link.bandwidth.bytes_per_second;
  return std::max(1.0, injection / global);
}

// Seconds between two nodes: under one leaf switch, and on the longest path the group uses.
struct PathLatency {
  double near = 0.0;
  double far = 0.0;
};

PathLatency path_latency(const Cluster& c, const GroupSpan& s) {
  const FabricSpec& f = c.fabric;
  const double nics = 2.0 * c.node.nic.latency.seconds();
  const double hop = f.switch_latency.seconds();
  PathLatency p{nics + hop, nics + hop};
  if (f.kind != FabricKind::dragonfly) {
    if (s.leaves > 1) p.far = nics + 3.0 * hop + 2.0 * f.leaf_to_spine.latency.seconds();
    return p;
  }
  const std::int64_t per_switch = std::max<std::int64_t>(1, f.nodes_per_group / f.switches_per_group);
  const double local = f.local_link.latency.seconds();
  if (s.nodes > per_switch) p.far = nics + 2.0 * hop + local;
  if (s.leaves > 1) p.far = nics + 4.0 * hop + 2.0 * local + f.global_link.latency.seconds();
  return p;
}

// Hops that follow each other in a ring of n ranks: all but the cheapest one.
struct RingHops {
  std::int64_t node = 0;
  std::int64_t near = 0;
  std::int64_t far = 0;
};

RingHops ring_hops(const GroupSpan& s) {
  RingHops h;
  const std::int64_t between = s.nodes > 1 ? s.nodes : 0;
  h.far = s.leaves > 1 ? s.leaves : 0;
  h.near = between - h.far;
  h.node = s.ranks - between;
  std::int64_t& cheapest = h.node > 0 ? h.node : h.near > 0 ? h.near : h.far;
  --cheapest;
  return h;
}

Legs ring_legs(const Cluster& c, const GroupSpan& s, double bytes, double rounds) {
  const RingHops hops = ring_hops(s);
  const PathLatency path = path_latency(c, s);
  Leg leg;
  leg.ranks = s.ranks;
  leg.bytes = bytes;
  leg.detour = rounds * real(hops.far) * (path.far - path.near);
  leg.latency = rounds * (real(hops.node) * c.node.scale_up.latency.seconds() + real(hops.near) * path.near +
                          real(hops.far) * path.far);
  leg.link = c.node.scale_up.bandwidth;
  if (s.nodes == 1) return {leg, std::nullopt};
  const double up = s.leaves > 1 ? std::min(1.0, real(s.nodes_per_leaf) / oversubscription(c)) : 1.0;
  const double nics = real(s.ranks_per_node) * nic_share(c) * up;
  if (s.ranks_per_node == 1)
    leg.link = Bandwidth{nics};
  else
    leg.link = Bandwidth{std::min(leg.link.bytes_per_second, nics)};
  return {std::nullopt, leg};
}

// Leg over the NICs for traffic between all pairs; what a rank sends to other leaf groups also needs its uplink share.
Leg fabric_leg(const Cluster& c, const GroupSpan& s, double bytes) {
  const PathLatency path = path_latency(c, s);
  const bool forwarded = c.fabric.kind == FabricKind::rail_optimized && !s.same_rail;
  const double remote = real(s.ranks - s.ranks_per_node);
  const double beyond_leaf = s.leaves > 1 ? real(s.ranks - s.ranks_per_node * s.nodes_per_leaf) : 0.0;
  const double up = beyond_leaf > 0.0 ? std::min(1.0, remote / (beyond_leaf * oversubscription(c))) : 1.0;
  Leg leg;
  leg.ranks = s.ranks;
  leg.bytes = bytes;
  leg.link = Bandwidth{nic_share(c) * up};
  leg.latency = path.far + (forwarded ? c.node.scale_up.latency.seconds() : 0.0);
  leg.detour = path.far - path.near;
  return leg;
}

Leg node_leg(const Cluster& c, std::int64_t ranks, double bytes) {
  return {ranks, bytes, c.node.scale_up.bandwidth, c.node.scale_up.latency.seconds(), 0.0};
}

Legs all_to_all_legs(const Cluster& c, const GroupSpan& s, double size) {
  const double n = real(s.ranks);
  const double g = real(s.ranks_per_node);
  Legs legs;
  const bool rails = c.fabric.kind == FabricKind::rail_optimized && s.nodes > 1;
  if (s.ranks_per_node > 1) legs.node = node_leg(c, s.ranks_per_node, size * (g - 1.0) / (rails ? g : n));
  if (s.nodes > 1) legs.fabric = fabric_leg(c, s, size * (n - g) / n);
  return legs;
}

Legs send_recv_legs(const Cluster& c, const GroupSpan& s, double size) {
  if (s.nodes == 1) return {node_leg(c, 2, size), std::nullopt};
  Leg leg = fabric_leg(c, s, size);
  const double up = s.leaves > 1 ? std::min(1.0, real(s.nodes_per_leaf) / oversubscription(c)) : 1.0;
  leg.ranks = 2;
  leg.link = Bandwidth{nic_share(c) * up};
  return {std::nullopt, leg};
}

bool free_of_charge(const Cluster& c, const GroupSpan& s) {
  return s.ranks <= 1 || c.fabric.kind == FabricKind::ideal;
}

// Expected number of `parts` equal parts of `experts` that hold at least one of `k` distinct experts.
double distinct_parts(double experts, double parts, std::int64_t k) {
  double none = 1.0;
  for (std::int64_t i = 0; i < k; ++i) {
    const double left = experts - real(i);
    if (left <= 0.0) break;
    none *= std::max(0.0, left - experts / parts) / left;
  }
  return parts * (1.0 - none);
}

} // namespace

const char* name(Collective c) {
  constexpr std::array names = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"};
  return names[static_cast<std::size_t>(c)];
}

double busbw_factor(Collective c, std::int64_t ranks) {
  TSL_CHECK(ranks > 0);
  if (c == Collective::send_recv) return 1.0;
  const double share = real(ranks - 1) / real(ranks);
  return c == Collective::all_reduce ? 2.0 * share : share;
}

Legs collective_legs(const Cluster& cluster, Collective c, const GroupSpan& span, double size) {
  if (free_of_charge(cluster, span)) return {};
  switch (c) {
  case Collective::all_to_all:
    return all_to_all_legs(cluster, span, size);
  case Collective::send_recv:
    return send_recv_legs(cluster, span, size);
  case Collective::all_reduce:
  case Collective::all_gather:
  case Collective::reduce_scatter:
    return ring_legs(cluster, span, size * busbw_factor(c, span.ranks), c == Collective::all_reduce ? 2.0 : 1.0);
  }
  TSL_CHECK(false);
}

HaloLegs halo_legs(const Cluster& cluster, const GroupSpan& span, double size) {
  if (free_of_charge(cluster, span)) return {};
  const double n = real(span.ranks);
  const double g = real(span.ranks_per_node);
  const double outside = size * (n - g) / n;
  HaloLegs legs;
  if (span.ranks_per_node > 1) legs.local = node_leg(cluster, span.ranks_per_node, size * (g - 1.0) / n);
  if (span.nodes == 1) return legs;
  legs.remote = fabric_leg(cluster, span, outside);
  legs.remote->ranks = span.nodes;
  if (span.ranks_per_node > 1) legs.redistribute = node_leg(cluster, span.ranks_per_node, outside * (g - 1.0) / g);
  return legs;
}

Copies expected_copies(const GroupSpan& span, const ExpertTraffic& traffic) {
  TSL_CHECK(traffic.num_experts > 0 && traffic.router_topk > 0);
  const double experts = real(traffic.num_experts);
  const double nodes = real(span.nodes);
  double visited = distinct_parts(experts, nodes, traffic.router_topk);
  double open = 1.0; // share of the group that one token may reach
  if (traffic.topk_groups > 0 && traffic.topk_groups < span.nodes) {
    visited = std::min(visited, real(traffic.topk_groups));
    open = real(traffic.topk_groups) / nodes;
  }
  const double remote = 1.0 - real(span.ranks_per_node) / real(span.ranks);
  return {visited * remote, distinct_parts(experts * open, real(span.ranks) * open, traffic.router_topk)};
}

Legs expert_legs(const Cluster& cluster, Dispatcher d, bool is_combine, const GroupSpan& span,
                 const ExpertTraffic& traffic, std::int64_t tokens) {
  if (free_of_charge(cluster, span)) return {};
  const double row = real(traffic.hidden_size) * traffic.bytes_per_element;
  const double k = real(traffic.router_topk);
  const double sent = traffic.tokens_sent > 0 ? real(traffic.tokens_sent) : real(tokens) / k;
  const double rows = std::max(real(tokens), sent * k);
  if (d == Dispatcher::alltoall) return collective_legs(cluster, Collective::all_to_all, span, rows * row);
  if (d == Dispatcher::allgather)
    return collective_legs(cluster, is_combine ? Collective::reduce_scatter : Collective::all_gather, span,
                           real(span.ranks) * sent * row);
  const Copies copies = expected_copies(span, traffic);
  const double g = real(span.ranks_per_node);
  const double hot = sent > 0.0 ? rows / (sent * k) : 1.0;
  Legs legs;
  if (span.ranks_per_node > 1)
    legs.node = node_leg(cluster, span.ranks_per_node, sent * copies.ranks * (g - 1.0) / g * hot * row);
  if (span.nodes > 1) legs.fabric = fabric_leg(cluster, span, sent * copies.remote_nodes * (hot + g - 1.0) / g * row);
  return legs;
}

} // namespace tessella
