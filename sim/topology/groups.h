// Where the ranks of a communication group sit. Rank order is tp-cp-ep-dp-pp (TP fastest) on consecutive GPUs; experts
// fold the same ranks as etp-ep-edp-pp. All groups of one kind have the same span unless the grid straddles nodes
// unevenly, in which case the widest is reported.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/ids.h"
#include "sim/domain/cluster.h"
#include "sim/domain/parallelism.h"

namespace tessella {

enum class GroupKind { tp, cp, tp_cp, ep, etp, dp, edp, pp };
const char* name(GroupKind kind);

struct GroupSpan {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
  std::int64_t ranks_per_node = 1; // of the group, in the fullest node
  std::int64_t leaves = 1;         // leaf groups (segments, scalable units, dragonfly groups) it spans
  bool same_rail = false;          // all ranks have the same index inside their node
  bool operator==(const GroupSpan&) const = default;
};

GroupSpan span_of(const Cluster& cluster, const Parallelism& p, GroupKind kind);

// The ranks of every group of a kind, in rank order; for tests, traces and the flow-level model. O(world).
std::vector<std::vector<Rank>> groups_of(const Parallelism& p, GroupKind kind);

} // namespace tessella
