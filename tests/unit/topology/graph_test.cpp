// The cluster graph: sizes that can be counted by hand, routes that are shortest and use the links they should.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>

#include "sim/topology/graph.h"
#include "tests/support/clusters.h"

using namespace tessella;
using tessella::testing::dragonfly_cluster;
using tessella::testing::fat_tree_cluster;
using tessella::testing::rail_cluster;
using tessella::testing::with_latencies;

namespace {

std::map<LinkKind, int> count_by_kind(const ClusterGraph& g) {
  std::map<LinkKind, int> count;
  for (const GraphLink& l : g.links()) ++count[l.kind];
  return count;
}

const GraphLink& at(const ClusterGraph& g, LinkIndex l) {
  return g.links()[static_cast<std::size_t>(l.value)];
}

std::string kinds(const ClusterGraph& g, const Path& path) {
  std::string text;
  for (const LinkIndex l : path) text += std::string(text.empty() ? "" : " ") + name(at(g, l).kind);
  return text;
}

// Fewest links between two vertices, by breadth-first search over the link list.
int shortest(const ClusterGraph& g, int from, int to) {
  std::vector<std::vector<int>> out(static_cast<std::size_t>(g.num_vertices()));
  for (const GraphLink& l : g.links()) out[static_cast<std::size_t>(l.from)].push_back(l.to);
  std::vector<int> distance(out.size(), -1);
  std::deque<int> queue{from};
  distance[static_cast<std::size_t>(from)] = 0;
  while (!queue.empty()) {
    const int v = queue.front();
    queue.pop_front();
    for (const int w : out[static_cast<std::size_t>(v)])
      if (distance[static_cast<std::size_t>(w)] < 0) {
        distance[static_cast<std::size_t>(w)] = distance[static_cast<std::size_t>(v)] + 1;
        queue.push_back(w);
      }
  }
  return distance[static_cast<std::size_t>(to)];
}

void check_connected(const ClusterGraph& g, const Path& path, int from, int to) {
  REQUIRE(!path.empty());
  CHECK(at(g, path.front()).from == from);
  CHECK(at(g, path.back()).to == to);
  for (std::size_t i = 0; i + 1 < path.size(); ++i) CHECK(at(g, path[i]).to == at(g, path[i + 1]).from);
}

} // namespace

TEST_CASE("A node is a star of GPUs around its scale-up switch") {
  const ClusterGraph g(rail_cluster(1));
  CHECK(g.num_vertices() == 9);
  CHECK(g.links().size() == 16);
  const auto paths = g.paths(Rank(2), Rank(5));
  REQUIRE(paths.size() == 1);
  CHECK(g.link_name(paths[0][0]) == "scale_up: gpu 2 -> node 0");
  CHECK(g.link_name(paths[0][1]) == "scale_up: node 0 -> gpu 5");
  CHECK(g.paths(Rank(3), Rank(3)).empty());
}

TEST_CASE("A rail fabric has a leaf per rail and group, and spines per rail") {
  const ClusterGraph g(rail_cluster(8, 4, 4)); // 2 leaf groups x 4 rails, 4 uplinks each
  const auto count = count_by_kind(g);
  CHECK(count.at(LinkKind::scale_up) == 2 * 32);
  CHECK(count.at(LinkKind::nic) == 2 * 32);
  CHECK(count.at(LinkKind::leaf_to_spine) == 2 * 8 * 4);
  CHECK(g.num_vertices() == 32 + 8 + 32 + 8 + 16);
  // Under one leaf, over a spine, and from another rail.
  CHECK(kinds(g, g.paths(Rank(0), Rank(4))[0]) == "host nic nic host");
  CHECK(kinds(g, g.paths(Rank(0), Rank(16))[0]) == "host nic leaf_to_spine leaf_to_spine nic host");
  CHECK(kinds(g, g.paths(Rank(0), Rank(5))[0]) == "scale_up scale_up host nic nic host");
}

TEST_CASE("One leaf group needs no spines") {
  CHECK(count_by_kind(ClusterGraph(rail_cluster(4, 8, 32))).count(LinkKind::leaf_to_spine) == 0);
}

TEST_CASE("Oversubscription sets the number of uplinks") {
  // 4 nodes x 4 NICs of 50 GB/s down; 4:1 leaves 4 uplinks of 50 GB/s for each of the two leaves.
  CHECK(count_by_kind(ClusterGraph(fat_tree_cluster(8, 4, 4, 4.0))).at(LinkKind::leaf_to_spine) == 2 * 2 * 4);
}

TEST_CASE("Planes split a NIC into ports, and messages over them") {
  Cluster c = rail_cluster(4, 2, 2);
  c.fabric.planes = 2;
  const ClusterGraph g(c);
  const auto paths = g.paths(Rank(0), Rank(4));
  REQUIRE(paths.size() == 2);
  for (const Path& path : paths) check_connected(g, path, 0, 4);
  CHECK(at(g, paths[0][1]).bandwidth == Bandwidth{25e9});
  CHECK(at(g, paths[0][1]).to != at(g, paths[1][1]).to);
}

TEST_CASE("GPUs with several NICs use all of them, and shared NICs are shared") {
  Cluster many = rail_cluster(2, 2);
  many.node.nics = 8;
  CHECK(ClusterGraph(many).paths(Rank(0), Rank(2)).size() == 4);
  const ClusterGraph shared(dragonfly_cluster(1)); // 8 GPUs, 4 NICs
  CHECK(shared.link_name(shared.paths(Rank(0), Rank(8))[0][1]) ==
        shared.link_name(shared.paths(Rank(1), Rank(8))[0][1]));
}

TEST_CASE("Routes join their ends and are shortest") {
  const Cluster clusters[] = {rail_cluster(8, 4, 4), fat_tree_cluster(8, 4, 2, 1.0), dragonfly_cluster(3)};
  for (const Cluster& c : clusters) {
    const ClusterGraph g(c);
    for (int from = 0; from < c.num_gpus(); from += 5)
      for (int to = 0; to < c.num_gpus(); to += 3) {
        if (from == to) continue;
        for (const Routing routing : {Routing::fixed, Routing::ecmp}) {
          const auto paths = g.paths(Rank(from), Rank(to), routing, 7);
          REQUIRE(!paths.empty());
          for (const Path& path : paths) {
            check_connected(g, path, from, to);
            // The global link is chosen before the switches, so a dragonfly route may take two local hops more.
            const int slack = c.fabric.kind == FabricKind::dragonfly ? 2 : 0;
            CHECK(static_cast<int>(path.size()) <= shortest(g, from, to) + slack);
          }
        }
      }
  }
}

TEST_CASE("Fixed routes spread the destinations of a shift over all uplinks") {
  const ClusterGraph g(rail_cluster(8, 1, 4));
  std::map<int, int> spines;
  for (int i = 0; i < 4; ++i) ++spines[at(g, g.paths(Rank(i), Rank(i + 4))[0][2]).to];
  CHECK(spines.size() == 4);
}

TEST_CASE("Hashed routes depend on the flow alone, and some flows collide") {
  const ClusterGraph g(rail_cluster(8, 1, 4));
  std::map<int, int> spines;
  for (int i = 0; i < 4; ++i)
    ++spines[at(g, g.paths(Rank(i), Rank(i + 4), Routing::ecmp, static_cast<std::uint64_t>(i))[0][2]).to];
  CHECK(g.paths(Rank(0), Rank(4), Routing::ecmp, 9) == g.paths(Rank(0), Rank(4), Routing::ecmp, 9));
  CHECK(spines.size() < 4); // 4 flows on 4 uplinks: these seeds collide
}

TEST_CASE("A dragonfly group spreads its global links over its switches") {
  Cluster c = dragonfly_cluster(5);
  c.fabric.links_per_group_pair = 1; // 4 peers on 4 switches
  const ClusterGraph g(c);
  std::map<int, int> per_switch;
  for (const GraphLink& l : g.links())
    if (l.kind == LinkKind::global) ++per_switch[l.from];
  CHECK(per_switch.size() == 20);
  for (const auto& [vertex, links] : per_switch) CHECK(links == 1);
}

TEST_CASE("Path latencies are those of the links and switches passed") {
  const ClusterGraph rail(with_latencies(rail_cluster(8, 4, 4)));
  const auto ns = [](const ClusterGraph& g, int a, int b) {
    return latency(g, g.paths(Rank(a), Rank(b))[0]).ps / 1000;
  };
  CHECK(ns(rail, 0, 1) == 1000);
  CHECK(ns(rail, 0, 4) == 2 * 2000 + 300);
  CHECK(ns(rail, 0, 16) == 2 * 2000 + 3 * 300 + 2 * 70);
  CHECK(ns(rail, 0, 17) == 1000 + 2 * 2000 + 3 * 300 + 2 * 70);
  const ClusterGraph fly(with_latencies(dragonfly_cluster(2)));
  CHECK(ns(fly, 0, 8) == 2 * 2000 + 300);                // same switch
  CHECK(ns(fly, 0, 16) == 2 * 2000 + 2 * 300 + 50);      // same group
  CHECK(ns(fly, 0, 64 + 1) >= 2 * 2000 + 2 * 300 + 400); // other group
}

TEST_CASE("An ideal cluster has no links") {
  Cluster c = rail_cluster(4);
  c.fabric.kind = FabricKind::ideal;
  const ClusterGraph g(c);
  CHECK(g.links().empty());
  CHECK(g.paths(Rank(0), Rank(9)).empty());
}

TEST_CASE("12,288 GPUs have the switches that their data sheet has") {
  Cluster c = rail_cluster(1536, 8, 128);
  c.fabric.planes = 2;
  c.fabric.oversubscription = 128.0 * 25.0 / (60.0 * 50.0);
  const ClusterGraph g(c);
  const auto count = count_by_kind(g);
  CHECK(count.at(LinkKind::nic) == 2 * 12288 * 2);
  CHECK(count.at(LinkKind::leaf_to_spine) == 2 * (12 * 8 * 2) * 60); // 192 leaves with 60 uplinks
}
