// Where the ranks of a communication group sit. Rank r runs on GPU r mod G of node r div G (G GPUs per node). Rank
// order is tp-cp-ep-dp-pp (TP fastest); experts fold the same ranks as etp-ep-edp-pp. In each of the two grids every
// kind of group is an arithmetic progression of ranks:
//
//   kind    stride        ranks      ties together
//   tp      1             TP         tensor shards
//   cp      TP            CP         sequence shards
//   tp_cp   1             TP*CP      one model replica's share of a pipeline position
//   dp      TP*CP         DP         replicas of the dense weights, without CP
//   dp_cp   TP            CP*DP      dense gradients and optimizer shards (Megatron reduces over DP and CP)
//   etp     1             ETP        expert tensor shards
//   ep      ETP           EP         expert dispatch and combine
//   edp     ETP*EP        EDP        expert gradients and optimizer shards
//   pp      world / PP    PP         stages; neighbours send activations
//
// Source of the orders: Megatron-Core, parallel_state (RankGenerator, default order "tp-cp-ep-dp-pp").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/domain/cluster.h"
#include "sim/domain/parallelism.h"

namespace tessella {

enum class GroupKind { tp, cp, tp_cp, ep, etp, dp, edp, pp, dp_cp };
const char* name(GroupKind kind);

struct GroupSpan {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
  std::int64_t ranks_per_node = 1; // of the group, in the fullest node
  std::int64_t leaves = 1;         // leaf groups (segments, scalable units, dragonfly groups) it spans
  bool same_rail = false;          // all ranks have the same index inside their node
  std::int64_t nodes_per_leaf = 1; // nodes of the group in the fullest leaf group
  bool operator==(const GroupSpan&) const = default;
};

// Span of the widest group of a kind: most nodes, then most leaf groups, then fewest ranks per node. All groups of a
// kind have the same span unless the grid straddles nodes unevenly. O(groups + ranks of those that start at different
// places of a leaf group).
GroupSpan span_of(const Cluster& cluster, const Parallelism& p, GroupKind kind);

// Span of given ranks, in ascending order.
GroupSpan span_of_ranks(const Cluster& cluster, std::span<const Rank> ranks);

// Span of ranks 0..n-1.
GroupSpan span_of_first(const Cluster& cluster, std::int64_t n);

// The ranks of every group of a kind, in rank order; for tests, traces and the flow-level model. O(world).
std::vector<std::vector<Rank>> groups_of(const Parallelism& p, GroupKind kind);

// Nodes under one leaf group of the fabric; all nodes when there is only one leaf group.
std::int64_t nodes_per_leaf_group(const Cluster& cluster);

} // namespace tessella
