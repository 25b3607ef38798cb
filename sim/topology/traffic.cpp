#include "sim/topology/traffic.h"

#include <algorithm>

namespace tessella {
namespace {

// The ranks of a group node by node; the group is in rank order.
std::vector<std::vector<Rank>> by_node(const Cluster& cluster, std::span<const Rank> group) {
  std::vector<std::vector<Rank>> nodes;
  std::int64_t last = 0;
  for (const Rank r : group) {
    const std::int64_t node = r.value / cluster.node.gpus;
    if (nodes.empty() || node != last) nodes.emplace_back();
    nodes.back().push_back(r);
    last = node;
  }
  return nodes;
}

// Ring number c: even nodes from rank c upwards to c-1, odd nodes from c-1 downwards to c.
std::vector<Rank> ring_order(const std::vector<std::vector<Rank>>& nodes, std::size_t c) {
  std::vector<Rank> order;
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    const std::size_t g = nodes[j].size();
    for (std::size_t i = 0; i < g; ++i) {
      const std::size_t step = j % 2 == 0 ? i : g - 1 - i;
      order.push_back(nodes[j][(c + step) % g]);
    }
  }
  return order;
}

} // namespace

std::vector<Transfer> ring_transfers(const Cluster& cluster, std::span<const Rank> group, double size) {
  const std::vector<std::vector<Rank>> nodes = by_node(cluster, group);
  std::size_t rings = 1;
  if (nodes.size() > 1)
    for (const auto& n : nodes) rings = std::max(rings, n.size());
  const double n = static_cast<double>(group.size());
  const double share = size * (n - 1.0) / n / static_cast<double>(rings);
  std::vector<Transfer> transfers;
  for (std::size_t c = 0; c < rings; ++c) {
    const std::vector<Rank> order = ring_order(nodes, c);
    for (std::size_t i = 0; i < order.size(); ++i)
      transfers.push_back({order[i], order[(i + 1) % order.size()], share});
  }
  return transfers;
}

std::vector<Transfer> all_to_all_transfers(std::span<const Rank> group, double size) {
  std::vector<Transfer> transfers;
  const double share = size / static_cast<double>(group.size());
  for (const Rank from : group)
    for (const Rank to : group)
      if (from != to) transfers.push_back({from, to, share});
  return transfers;
}

std::vector<LinkLoad> link_loads(const ClusterGraph& graph, std::span<const Transfer> transfers, Routing routing) {
  std::vector<double> bytes(graph.links().size());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const std::vector<Path> paths = graph.paths(transfers[i].from, transfers[i].to, routing, i);
    for (const Path& path : paths)
      for (const LinkIndex l : path)
        bytes[static_cast<std::size_t>(l.value)] += transfers[i].bytes / static_cast<double>(paths.size());
  }
  std::vector<LinkLoad> loads;
  for (std::size_t l = 0; l < bytes.size(); ++l)
    if (bytes[l] > 0.0) loads.push_back({LinkIndex(static_cast<std::int32_t>(l)), bytes[l]});
  return loads;
}

std::optional<Bottleneck> bottleneck(const ClusterGraph& graph, std::span<const LinkLoad> loads) {
  std::optional<Bottleneck> worst;
  for (const LinkLoad& load : loads) {
    const GraphLink& link = graph.links()[static_cast<std::size_t>(load.link.value)];
    const double seconds = load.bytes / link.bandwidth.bytes_per_second;
    if (seconds > (worst ? worst->seconds : 0.0)) worst = Bottleneck{load.link, seconds};
  }
  return worst;
}

} // namespace tessella
