// Small clusters with round numbers, for tests of the topology, of collectives and of flows.
#pragma once

#include <cstdint>

#include "sim/domain/cluster.h"

namespace tessella::testing {

// 450 GB/s scale-up, one 50 GB/s NIC per GPU, no latency anywhere.
inline Cluster rail_cluster(std::int64_t nodes, std::int64_t gpus = 8, std::int64_t nodes_per_leaf = 32) {
  Cluster c;
  c.name = "rail";
  c.nodes = nodes;
  c.node.gpus = gpus;
  c.node.scale_up.bandwidth = Bandwidth{450e9};
  c.node.nics = gpus;
  c.node.nic.bandwidth = Bandwidth{50e9};
  c.fabric.kind = nodes > 1 ? FabricKind::rail_optimized : FabricKind::single_node;
  c.fabric.nodes_per_leaf = nodes_per_leaf;
  c.fabric.leaf_to_spine.bandwidth = Bandwidth{50e9};
  return c;
}

inline Cluster fat_tree_cluster(std::int64_t nodes, std::int64_t gpus, std::int64_t nodes_per_leaf,
                                double oversubscription) {
  Cluster c = rail_cluster(nodes, gpus, nodes_per_leaf);
  c.fabric.kind = FabricKind::fat_tree;
  c.fabric.oversubscription = oversubscription;
  return c;
}

// Groups of 4 switches with 2 nodes each; 8 GPUs share 4 NICs of 25 GB/s in a node, as on Frontier.
inline Cluster dragonfly_cluster(std::int64_t groups) {
  Cluster c = rail_cluster(8 * groups, 8, 0);
  c.node.nics = 4;
  c.node.nic.bandwidth = Bandwidth{25e9};
  c.node.scale_up.bandwidth = Bandwidth{200e9};
  c.fabric.kind = FabricKind::dragonfly;
  c.fabric.switches_per_group = 4;
  c.fabric.nodes_per_group = 8;
  c.fabric.links_per_group_pair = 4;
  c.fabric.local_link.bandwidth = Bandwidth{100e9};
  c.fabric.global_link.bandwidth = Bandwidth{25e9};
  return c;
}

// The same cluster with a latency on every link, all different.
inline Cluster with_latencies(Cluster c) {
  c.node.scale_up.latency = Duration{1'000'000};
  c.node.nic.latency = Duration{2'000'000};
  c.fabric.switch_latency = Duration{300'000};
  c.fabric.leaf_to_spine.latency = Duration{70'000};
  c.fabric.local_link.latency = Duration{50'000};
  c.fabric.global_link.latency = Duration{400'000};
  return c;
}

} // namespace tessella::testing
