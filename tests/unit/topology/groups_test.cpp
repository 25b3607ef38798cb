// Where the ranks of each group sit: the two grids on the same ranks, and spans over nodes, rails and leaves.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "sim/topology/groups.h"
#include "tests/support/clusters.h"

using namespace tessella;
using tessella::testing::dragonfly_cluster;
using tessella::testing::rail_cluster;

namespace {

std::vector<std::vector<int>> numbers(const std::vector<std::vector<Rank>>& groups) {
  std::vector<std::vector<int>> out;
  for (const auto& g : groups) {
    out.emplace_back();
    for (const Rank r : g) out.back().push_back(r.value);
  }
  return out;
}

using Groups = std::vector<std::vector<int>>;

Parallelism grid(std::int64_t world, std::int64_t tp, std::int64_t cp, std::int64_t pp, std::int64_t ep,
                 std::int64_t etp) {
  Parallelism p;
  p.world_size = world;
  p.tp = tp;
  p.cp = cp;
  p.pp = pp;
  p.ep = ep;
  p.etp = etp;
  return p;
}

} // namespace

TEST_CASE("Dense groups follow the order tp-cp-dp-pp") {
  // The 16-rank example of Megatron's parallel_state documentation: TP 2, PP 4, hence DP 2.
  const Parallelism p = grid(16, 2, 1, 4, 1, 1);
  CHECK(numbers(groups_of(p, GroupKind::tp)) ==
        Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}});
  CHECK(numbers(groups_of(p, GroupKind::dp)) ==
        Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}});
  CHECK(numbers(groups_of(p, GroupKind::pp)) == Groups{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}});
}

TEST_CASE("Context parallelism sits between tensor and data parallelism") {
  const Parallelism p = grid(8, 2, 2, 1, 1, 1);
  CHECK(numbers(groups_of(p, GroupKind::cp)) == Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(numbers(groups_of(p, GroupKind::tp_cp)) == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(numbers(groups_of(p, GroupKind::dp)) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(numbers(groups_of(p, GroupKind::dp_cp)) == Groups{{0, 2, 4, 6}, {1, 3, 5, 7}});
}

TEST_CASE("Expert groups fold the same ranks as etp-ep-edp-pp") {
  const Parallelism p = grid(16, 4, 1, 2, 2, 2); // ETP 2 inside, EP 2 strided by it, EDP 2
  CHECK(numbers(groups_of(p, GroupKind::etp)).front() == std::vector<int>{0, 1});
  CHECK(numbers(groups_of(p, GroupKind::ep)) ==
        Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}});
  CHECK(numbers(groups_of(p, GroupKind::edp)) ==
        Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 12}, {9, 13}, {10, 14}, {11, 15}});
  // EP may be wider than TP*CP: with ETP 1 it covers consecutive ranks of the pipeline position.
  CHECK(numbers(groups_of(grid(16, 2, 1, 2, 8, 1), GroupKind::ep)) ==
        Groups{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}});
}

TEST_CASE("Every kind of group covers every rank exactly once") {
  const Parallelism p = grid(96, 2, 2, 3, 4, 2);
  for (const GroupKind kind : {GroupKind::tp, GroupKind::cp, GroupKind::tp_cp, GroupKind::dp, GroupKind::dp_cp,
                               GroupKind::etp, GroupKind::ep, GroupKind::edp, GroupKind::pp}) {
    CAPTURE(std::string(name(kind)));
    std::set<int> seen;
    std::size_t count = 0;
    for (const auto& g : groups_of(p, kind))
      for (const Rank r : g) {
        seen.insert(r.value);
        ++count;
      }
    CHECK(seen.size() == 96);
    CHECK(count == 96);
  }
}

TEST_CASE("Spans count nodes, ranks per node, leaf groups and rails") {
  const Cluster c = rail_cluster(128); // 4 leaf groups of 32 nodes
  const Parallelism p = grid(1024, 2, 1, 8, 32, 1);
  CHECK(span_of(c, p, GroupKind::tp) == GroupSpan{2, 1, 2, 1, false, 1});
  CHECK(span_of(c, p, GroupKind::ep) == GroupSpan{32, 4, 8, 1, false, 4});
  CHECK(span_of(c, p, GroupKind::dp) == GroupSpan{64, 16, 4, 1, false, 16});
  // Stages are 128 ranks = 16 nodes apart: 8 nodes, two under each leaf, all on one rail.
  CHECK(span_of(c, p, GroupKind::pp) == GroupSpan{8, 8, 1, 4, true, 2});
  // EDP members are 32 ranks apart: one per 4 nodes.
  CHECK(span_of(c, p, GroupKind::edp) == GroupSpan{4, 4, 1, 1, true, 4});
}

TEST_CASE("EP strided by ETP spreads over as many nodes as ETP*EP ranks fill") {
  CHECK(span_of(rail_cluster(8), grid(64, 2, 1, 1, 16, 2), GroupKind::ep) == GroupSpan{16, 4, 4, 1, false, 4});
}

TEST_CASE("The widest group is reported when a grid straddles nodes") {
  // TP 3 on 8-GPU nodes: ranks {6,7,8} sit on two nodes, {0,1,2} on one.
  CHECK(span_of(rail_cluster(3), grid(24, 3, 1, 1, 1, 1), GroupKind::tp) == GroupSpan{3, 2, 2, 1, false, 2});
}

TEST_CASE("A dragonfly group is a leaf group") {
  CHECK(span_of_first(dragonfly_cluster(3), 128) == GroupSpan{128, 16, 8, 2, false, 8});
}

TEST_CASE("The widest span is that of one of the groups, and none of them is wider") {
  for (const Cluster& c : {rail_cluster(24, 8, 4), rail_cluster(24, 4, 5), rail_cluster(12), dragonfly_cluster(3)})
    for (const std::int64_t tp : {1, 2, 3, 6})
      for (const std::int64_t pp : {1, 2, 4})
        for (const std::int64_t ep : {1, 4, 12}) {
          const Parallelism p = grid(96, tp, 1, pp, ep, 1);
          for (const GroupKind kind : {GroupKind::tp, GroupKind::ep, GroupKind::dp, GroupKind::edp, GroupKind::pp}) {
            CAPTURE(name(kind));
            const GroupSpan widest = span_of(c, p, kind);
            bool is_one = false;
            for (const std::vector<Rank>& ranks : groups_of(p, kind)) {
              const GroupSpan span = span_of_ranks(c, ranks);
              is_one |= span == widest;
              CHECK(span.nodes <= widest.nodes);
              if (span.nodes == widest.nodes) CHECK(span.leaves <= widest.leaves);
            }
            CHECK(is_one);
          }
        }
}
