// The cluster as parameters of a generator: sim/topology turns them into a graph, so 12,288 GPUs are a dozen numbers.
// Bandwidths are per direction. Every link carries the source of its numbers.
//
// Latency of a path = the links it traverses + switch_latency per fabric switch:
//   inside a node         scale_up
//   under one leaf        nic + switch + nic
//   leaf - spine - leaf   nic + 3 switches + 2 leaf_to_spine + nic
//   dragonfly             nic + switches + up to 2 local_link and 1 global_link + nic
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/units.h"

namespace tessella {

struct Link {
  Bandwidth bandwidth; // per direction
  Duration latency;    // one traversal, software not included
  std::string source;
  bool operator==(const Link&) const = default;
};

enum class FabricKind {
  ideal,          // every transfer is free; for oracles
  single_node,    // one node, no fabric
  rail_optimized, // NIC i of every node on the leaf switches of rail i, spines above
  fat_tree,       // leaves by node, spines above
  dragonfly,      // groups of switches, all-to-all inside and between groups
};

struct NodeSpec {
  std::int64_t gpus = 0; // GPUs that share the scale-up domain below
  Link scale_up;         // NVLink / xGMI, per GPU; its latency is GPU to GPU
  std::int64_t nics = 0; // per node; 0 only for ideal and single_node
  Link nic;              // per NIC, all its ports together; its latency is one NIC, sending or receiving
  bool operator==(const NodeSpec&) const = default;
};

struct FabricSpec {
  FabricKind kind = FabricKind::single_node;
  std::int64_t planes = 1;         // independent copies of the fabric a NIC's ports are split over
  std::int64_t nodes_per_leaf = 0; // nodes under one leaf group (a scalable unit or segment)
  Link leaf_to_spine;              // one uplink; how many follows from oversubscription
  double oversubscription = 1.0;   // leaf downlink : uplink capacity
  Duration switch_latency;         // one switch traversal
  // dragonfly only; a node's NICs all attach to one switch, nodes_per_group / switches_per_group nodes per switch
  std::int64_t switches_per_group = 0;
  std::int64_t nodes_per_group = 0;
  std::int64_t links_per_group_pair = 0;
  Link local_link;    // switch to switch inside a group
  Link global_link;   // group to group
  std::string source; // of the shape and the counts
  bool operator==(const FabricSpec&) const = default;
};

struct Cluster {
  std::string name;
  std::string gpu; // name of the GPU, matched against the profile's
  std::int64_t nodes = 0;
  NodeSpec node;
  FabricSpec fabric;
  std::string source;
  bool operator==(const Cluster&) const = default;

  std::int64_t num_gpus() const { return nodes * node.gpus; }
};

} // namespace tessella
