// Private to sim/topology: how many switches of each kind a cluster has, and the number of each vertex. Vertices are
// numbered GPUs, scale-up switches, NICs, leaves, spines, in that order, so that a vertex is found by arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/domain/cluster.h"
#include "sim/topology/graph.h"

namespace tessella {

struct FabricPlan {
  explicit FabricPlan(const Cluster& cluster);

  FabricKind kind = FabricKind::ideal;
  std::int64_t nodes = 0;
  std::int64_t gpus = 0; // per node
  std::int64_t nics = 0; // per node; 0 without a fabric
  std::int64_t planes = 1;
  std::int64_t rails = 1;              // leaves per leaf group and plane
  std::int64_t nodes_per_leaf = 1;     // of a leaf group, or of a dragonfly switch
  std::int64_t leaf_groups = 0;        // dragonfly: switches
  std::int64_t uplinks = 0;            // per leaf = spines per rail and plane
  std::int64_t switches_per_group = 1; // dragonfly
  std::int64_t groups = 0;             // dragonfly
  std::int64_t links_per_pair = 0;     // dragonfly

  std::int64_t leaves() const { return leaf_groups * rails * planes; }
  std::int64_t spines() const { return uplinks * rails * planes; }
  std::int64_t scale_up_base() const { return nodes * gpus; }
  std::int64_t nic_base() const { return scale_up_base() + nodes; }
  std::int64_t leaf_base() const { return nic_base() + nodes * nics; }
  std::int64_t spine_base() const { return leaf_base() + leaves(); }
  std::int64_t num_vertices() const { return spine_base() + spines(); }

  std::int64_t scale_up(std::int64_t node) const { return scale_up_base() + node; }
  std::int64_t nic(std::int64_t node, std::int64_t index) const { return nic_base() + node * nics + index; }
  // The leaf that NIC `index` of `node` is plugged into.
  std::int64_t leaf(std::int64_t node, std::int64_t index, std::int64_t plane) const {
    return leaf_vertex(node / nodes_per_leaf, rails > 1 ? index : 0, plane);
  }
  std::int64_t leaf_vertex(std::int64_t group, std::int64_t rail, std::int64_t plane) const {
    return leaf_base() + (plane * leaf_groups + group) * rails + rail;
  }
  std::int64_t spine(std::int64_t rail, std::int64_t plane, std::int64_t index) const {
    return spine_base() + (plane * rails + rail) * uplinks + index;
  }
  // NICs a GPU drives: several of its own, or one that it shares.
  std::int64_t nics_per_gpu() const { return nics > gpus ? nics / gpus : 1; }
  std::int64_t first_nic(std::int64_t local_gpu) const { return local_gpu * nics / gpus; }
  // Dragonfly: the switch of group `a` that holds link k to group `b`.
  std::int64_t gateway(std::int64_t a, std::int64_t b, std::int64_t k) const;
};

// Every link of the cluster, both directions of each cable.
std::vector<GraphLink> build_links(const Cluster& cluster, const FabricPlan& plan);

} // namespace tessella
