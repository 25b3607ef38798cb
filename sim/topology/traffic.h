// What a collective sends over which links, and which link holds it up. Exact on the graph of a small cluster; the
// closed form of sim/cost/wire.h says the same in a few operations at any size, and is tested against this.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/topology/graph.h"

namespace tessella {

struct Transfer {
  Rank from;
  Rank to;
  double bytes = 0.0;
  bool operator==(const Transfer&) const = default;
};

// Ring all-gather or reduce-scatter of `size` bytes (nccl-tests: the whole buffer): every rank sends size*(n-1)/n to
// its neighbour. As many rings as the fullest node has ranks of the group, each with an equal share; ring c enters and
// leaves a node at rank c of it, walking every other node backwards so that it stays on its rail between nodes.
// Bytes are those of one whole collective; an all-reduce sends twice as much.
std::vector<Transfer> ring_transfers(const Cluster& cluster, std::span<const Rank> group, double size);

// Every rank sends size/n to each of the others.
std::vector<Transfer> all_to_all_transfers(std::span<const Rank> group, double size);

struct LinkLoad {
  LinkIndex link;
  double bytes = 0.0;
  bool operator==(const LinkLoad&) const = default;
};

// Bytes per link, links without traffic left out, in link order. O(links + sum of path lengths).
std::vector<LinkLoad> link_loads(const ClusterGraph& graph, std::span<const Transfer> transfers,
                                 Routing routing = Routing::fixed);

// The link that takes longest to carry its load, were it alone; the first of equals. Nothing when all is free.
struct Bottleneck {
  LinkIndex link;
  double seconds = 0.0;
};
std::optional<Bottleneck> bottleneck(const ClusterGraph& graph, std::span<const LinkLoad> loads);

} // namespace tessella
