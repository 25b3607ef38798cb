#include "sim/topology/fabric_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/check.h"

namespace tessella {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Collects both directions of each cable.
struct Wiring {
  std::vector<GraphLink> links;

  void one_way(std::int64_t from, std::int64_t to, LinkKind kind, Bandwidth bandwidth, Duration latency) {
    links.push_back({static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), kind, bandwidth, latency});
  }
  void cable(std::int64_t a, std::int64_t b, LinkKind kind, Bandwidth bandwidth, Duration forth, Duration back) {
    one_way(a, b, kind, bandwidth, forth);
    one_way(b, a, kind, bandwidth, back);
  }
};

// GPU - scale-up switch, and GPU - NIC. The latency of a scale-up traversal sits on the way to the switch.
void wire_node(const Cluster& c, const FabricPlan& p, std::int64_t node, Wiring& w) {
  for (std::int64_t g = 0; g < p.gpus; ++g) {
    const std::int64_t gpu = node * p.gpus + g;
    if (p.gpus > 1)
      w.cable(gpu, p.scale_up(node), LinkKind::scale_up, c.node.scale_up.bandwidth, c.node.scale_up.latency, {});
    if (p.nics == 0) continue;
    for (std::int64_t i = 0; i < p.nics_per_gpu(); ++i)
      w.cable(gpu, p.nic(node, p.first_nic(g) + i), LinkKind::host, Bandwidth{INFINITY}, {}, {});
  }
}

// NIC - leaf, a port per plane. A switch adds its latency to what leaves it.
void wire_nics(const Cluster& c, const FabricPlan& p, std::int64_t node, Wiring& w) {
  const Bandwidth port = c.node.nic.bandwidth * (1.0 / static_cast<double>(p.planes));
  for (std::int64_t i = 0; i < p.nics; ++i)
    for (std::int64_t plane = 0; plane < p.planes; ++plane)
      w.cable(p.nic(node, i), p.leaf(node, i, plane), LinkKind::nic, port, c.node.nic.latency,
              c.node.nic.latency + c.fabric.switch_latency);
}

void wire_spines(const Cluster& c, const FabricPlan& p, Wiring& w) {
  const Link& up = c.fabric.leaf_to_spine;
  const Duration hop = up.latency + c.fabric.switch_latency;
  for (std::int64_t plane = 0; plane < p.planes; ++plane)
    for (std::int64_t group = 0; group < p.leaf_groups; ++group)
      for (std::int64_t rail = 0; rail < p.rails; ++rail)
        for (std::int64_t u = 0; u < p.uplinks; ++u)
          w.cable(p.leaf_vertex(group, rail, plane), p.spine(rail, plane, u), LinkKind::leaf_to_spine, up.bandwidth,
                  hop, hop);
}

void wire_dragonfly(const Cluster& c, const FabricPlan& p, std::int64_t plane, Wiring& w) {
  const auto sw = [&](std::int64_t group, std::int64_t s) {
    return p.leaf_vertex(group * p.switches_per_group + s, 0, plane);
  };
  const Duration local = c.fabric.local_link.latency + c.fabric.switch_latency;
  const Duration global = c.fabric.global_link.latency + c.fabric.switch_latency;
  for (std::int64_t a = 0; a < p.groups; ++a) {
    for (std::int64_t s = 0; s < p.switches_per_group; ++s)
      for (std::int64_t t = s + 1; t < p.switches_per_group; ++t)
        w.cable(sw(a, s), sw(a, t), LinkKind::local, c.fabric.local_link.bandwidth, local, local);
    for (std::int64_t b = a + 1; b < p.groups; ++b)
      for (std::int64_t k = 0; k < p.links_per_pair; ++k)
        w.cable(sw(a, p.gateway(a, b, k)), sw(b, p.gateway(b, a, k)), LinkKind::global, c.fabric.global_link.bandwidth,
                global, global);
  }
}

// How many uplinks give a leaf its oversubscription.
std::int64_t uplinks_of(const Cluster& c, const FabricPlan& p) {
  const std::int64_t ports = p.nodes_per_leaf * (p.rails > 1 ? 1 : p.nics);
  const double down =
      static_cast<double>(ports) * c.node.nic.bandwidth.bytes_per_second / static_cast<double>(p.planes);
  const double up = c.fabric.oversubscription * c.fabric.leaf_to_spine.bandwidth.bytes_per_second;
  TSL_CHECK(up > 0.0 && std::isfinite(down / up));
  return std::max<std::int64_t>(1, std::llround(down / up));
}

} // namespace

FabricPlan::FabricPlan(const Cluster& c) : kind(c.fabric.kind) {
  if (kind == FabricKind::ideal) return;
  nodes = c.nodes;
  gpus = c.node.gpus;
  TSL_CHECK(nodes > 0 && gpus > 0);
  if (kind == FabricKind::single_node) return;
  nics = c.node.nics;
  planes = c.fabric.planes;
  TSL_CHECK(nics > 0 && planes > 0);
  if (kind == FabricKind::dragonfly) {
    switches_per_group = c.fabric.switches_per_group;
    links_per_pair = c.fabric.links_per_group_pair;
    TSL_CHECK(switches_per_group > 0 && links_per_pair > 0 && c.fabric.nodes_per_group > 0);
    nodes_per_leaf = ceil_div(c.fabric.nodes_per_group, switches_per_group);
    groups = ceil_div(nodes, nodes_per_leaf * switches_per_group);
    leaf_groups = groups * switches_per_group;
    return;
  }
  if (kind == FabricKind::rail_optimized) rails = nics;
  nodes_per_leaf = c.fabric.nodes_per_leaf > 0 ? c.fabric.nodes_per_leaf : nodes;
  leaf_groups = ceil_div(nodes, nodes_per_leaf);
  if (leaf_groups > 1) uplinks = uplinks_of(c, *this);
}

std::int64_t FabricPlan::gateway(std::int64_t a, std::int64_t b, std::int64_t k) const {
  const std::int64_t peer = (b - a - 1 + groups) % groups; // 0..groups-2
  return (peer * links_per_pair + k) % switches_per_group;
}

std::vector<GraphLink> build_links(const Cluster& cluster, const FabricPlan& plan) {
  Wiring w;
  for (std::int64_t node = 0; node < plan.nodes; ++node) {
    wire_node(cluster, plan, node, w);
    wire_nics(cluster, plan, node, w);
  }
  if (plan.uplinks > 0) wire_spines(cluster, plan, w);
  if (plan.kind == FabricKind::dragonfly)
    for (std::int64_t plane = 0; plane < plan.planes; ++plane) wire_dragonfly(cluster, plan, plane, w);
  return std::move(w.links);
}

} // namespace tessella
