// The cluster as a directed graph of links, and the routes over it.
//
// Vertices: GPUs, one scale-up switch per node, NICs, leaf switches (of a rail, of a node block, or the switches of a
// dragonfly), spine switches. Every cable is two links, one per direction.
//
//   rail_optimized  per leaf group, rail and plane one leaf; per rail and plane its own spines, each joined to every
//                   leaf of that rail and plane by one link. A message to another GPU index crosses the scale-up switch
//                   of the sender first (NCCL's PXN), so a rail never needs another rail's switches.
//   fat_tree        per leaf group and plane one leaf, which holds all NICs of its nodes.
//   dragonfly       all NICs of a node on one switch; switches of a group fully joined; links_per_group_pair links
//                   between two groups, spread over their switches in turn. Routes are minimal: local, global, local.
//
// Uplinks of a leaf = downlink capacity / (oversubscription * leaf_to_spine), rounded, at least 1. Nothing above the
// leaves is built when one leaf group holds all nodes. GPU to NIC is not a bottleneck and has no cost of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/domain/cluster.h"

namespace tessella {

enum class LinkKind : std::uint8_t { host, scale_up, nic, leaf_to_spine, local, global };
const char* name(LinkKind kind);

using LinkIndex = Id<struct LinkTag>; // position in ClusterGraph::links()

struct GraphLink {
  std::int32_t from = 0; // vertices
  std::int32_t to = 0;
  LinkKind kind = LinkKind::host;
  Bandwidth bandwidth;
  Duration latency;
  bool operator==(const GraphLink&) const = default;
};

// How a message picks among equal links.
enum class Routing : std::uint8_t {
  fixed, // by destination, so that shifts and all-to-alls spread evenly
  ecmp,  // by a hash of the flow number: flows may collide
};

// The links of one path in order.
using Path = std::vector<LinkIndex>;

class ClusterGraph {
 public:
  // O(links). An `ideal` cluster has no links. Node counts, GPUs, NICs and bandwidths must be positive where the fabric
  // uses them.
  explicit ClusterGraph(const Cluster& cluster);
  ~ClusterGraph();
  ClusterGraph(ClusterGraph&&) noexcept;
  ClusterGraph& operator=(ClusterGraph&&) noexcept;

  std::span<const GraphLink> links() const;
  std::int64_t num_vertices() const;
  std::string vertex_name(std::int32_t vertex) const; // "gpu 17", "leaf 3"
  std::string link_name(LinkIndex link) const;        // "nic: gpu 17 -> nic 17"

  // The paths a message takes; its bytes are split evenly over them (the NICs of a GPU and the planes of a NIC). Empty
  // when the transfer is free: to itself, or on an ideal cluster. O(length * out-degree of a switch).
  std::vector<Path> paths(Rank from, Rank to, Routing routing = Routing::fixed, std::uint64_t flow = 0) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Sum of the link latencies of a path.
Duration latency(const ClusterGraph& graph, const Path& path);

} // namespace tessella
