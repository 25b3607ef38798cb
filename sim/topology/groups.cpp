#include "sim/topology/groups.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "sim/base/check.h"

namespace tessella {
namespace {

// A group: `ranks` ranks, `stride` apart.
struct Progression {
  std::int64_t stride = 1;
  std::int64_t ranks = 1;
};

Progression progression_of(const Parallelism& p, GroupKind kind) {
  switch (kind) {
  case GroupKind::tp:
    return {1, p.tp};
  case GroupKind::cp:
    return {p.tp, p.cp};
  case GroupKind::tp_cp:
    return {1, p.tp * p.cp};
  case GroupKind::dp:
    return {p.tp * p.cp, p.dp()};
  case GroupKind::dp_cp:
    return {p.tp, p.cp * p.dp()};
  case GroupKind::etp:
    return {1, p.etp};
  case GroupKind::ep:
    return {p.etp, p.ep};
  case GroupKind::edp:
    return {p.etp * p.ep, p.edp()};
  case GroupKind::pp:
    return {p.world_size / p.pp, p.pp};
  }
  TSL_CHECK(false);
}

// Calls visit(first rank) for every group of a kind, in order.
template <class Visit>
void for_each_start(const Parallelism& p, const Progression& g, Visit visit) {
  const std::int64_t block = g.stride * g.ranks;
  TSL_CHECK(block > 0 && p.world_size % block == 0);
  for (std::int64_t first = 0; first < p.world_size; first += block)
    for (std::int64_t offset = 0; offset < g.stride; ++offset) visit(first + offset);
}

void fill(std::vector<Rank>& ranks, const Progression& g, std::int64_t start) {
  for (std::size_t i = 0; i < ranks.size(); ++i)
    ranks[i] = Rank(static_cast<std::int32_t>(start + static_cast<std::int64_t>(i) * g.stride));
}

// How many runs of equal keys ascending values form, and the longest run.
struct Runs {
  std::int64_t count = 0;
  std::int64_t longest = 0;
  std::int64_t current = 0;
  std::int64_t key = 0;

  // True when `k` opens a new run.
  bool add(std::int64_t k) {
    const bool opens = count == 0 || k != key;
    current = opens ? 1 : current + 1;
    count += opens ? 1 : 0;
    key = k;
    longest = std::max(longest, current);
    return opens;
  }
};

auto width(const GroupSpan& s) {
  return std::tuple(s.nodes, s.leaves, -s.ranks_per_node, -s.nodes_per_leaf);
}

} // namespace

const char* name(GroupKind kind) {
  constexpr std::array names = {"tp", "cp", "tp_cp", "ep", "etp", "dp", "edp", "pp", "dp_cp"};
  return names[static_cast<std::size_t>(kind)];
}

std::int64_t nodes_per_leaf_group(const Cluster& cluster) {
  const FabricSpec& f = cluster.fabric;
  const std::int64_t per_leaf = f.kind == FabricKind::dragonfly ? f.nodes_per_group : f.nodes_per_leaf;
  const bool tree = f.kind == FabricKind::rail_optimized || f.kind == FabricKind::fat_tree;
  const bool has_leaves = tree || f.kind == FabricKind::dragonfly;
  return has_leaves && per_leaf > 0 ? per_leaf : std::max<std::int64_t>(1, cluster.nodes);
}

GroupSpan span_of_ranks(const Cluster& cluster, std::span<const Rank> ranks) {
  TSL_CHECK(!ranks.empty() && cluster.node.gpus > 0);
  const std::int64_t gpus = cluster.node.gpus;
  const std::int64_t per_leaf = nodes_per_leaf_group(cluster);
  Runs nodes;  // one entry per rank
  Runs leaves; // one entry per node
  bool same_rail = true;
  for (const Rank r : ranks) {
    const std::int64_t node = r.value / gpus;
    if (nodes.add(node)) leaves.add(node / per_leaf);
    same_rail = same_rail && r.value % gpus == ranks.front().value % gpus;
  }
  GroupSpan span;
  span.ranks = static_cast<std::int64_t>(ranks.size());
  span.nodes = nodes.count;
  span.ranks_per_node = nodes.longest;
  span.leaves = leaves.count;
  span.same_rail = same_rail;
  span.nodes_per_leaf = leaves.longest;
  return span;
}

GroupSpan span_of_first(const Cluster& cluster, std::int64_t n) {
  std::vector<Rank> ranks(static_cast<std::size_t>(n));
  std::generate(ranks.begin(), ranks.end(), [next = 0]() mutable { return Rank(next++); });
  return span_of_ranks(cluster, ranks);
}

GroupSpan span_of(const Cluster& cluster, const Parallelism& p, GroupKind kind) {
  // A group one leaf group further on has the same span; where all is one leaf group, one node further on.
  const std::int64_t leaf = cluster.node.gpus * nodes_per_leaf_group(cluster);
  const std::int64_t period = leaf < p.world_size ? leaf : cluster.node.gpus;
  TSL_CHECK(period > 0);
  std::vector<bool> seen(static_cast<std::size_t>(period));
  const Progression g = progression_of(p, kind);
  std::vector<Rank> ranks(static_cast<std::size_t>(g.ranks));
  std::optional<GroupSpan> widest;
  for_each_start(p, g, [&](std::int64_t start) {
    const auto place = static_cast<std::size_t>(start % period);
    if (seen[place]) return;
    seen[place] = true;
    fill(ranks, g, start);
    const GroupSpan span = span_of_ranks(cluster, ranks);
    if (!widest || width(*widest) < width(span)) widest = span;
  });
  return *widest;
}

std::vector<std::vector<Rank>> groups_of(const Parallelism& p, GroupKind kind) {
  const Progression g = progression_of(p, kind);
  std::vector<std::vector<Rank>> groups;
  for_each_start(p, g, [&](std::int64_t start) {
    groups.emplace_back(static_cast<std::size_t>(g.ranks));
    fill(groups.back(), g, start);
  });
  return groups;
}

} // namespace tessella
