// The closed forms against the exact link loads on the graph of small clusters: every group of a kind sends at once,
// the busiest link decides.
#include <doctest/doctest.h>

#include <string>

#include "sim/cost/wire.h"
#include "sim/topology/traffic.h"
#include "tests/support/clusters.h"

using namespace tessella;
using namespace tessella::testing;

namespace {

struct Grid {
  std::int64_t tp, pp, ep, etp;
};

Parallelism parallelism(const Cluster& c, const Grid& g) {
  Parallelism p;
  p.world_size = c.num_gpus();
  p.tp = g.tp;
  p.pp = g.pp;
  p.ep = g.ep;
  p.etp = g.etp;
  return p;
}

constexpr double kSize = 1e9;

double exact_seconds(const Cluster& c, const Parallelism& p, GroupKind kind, Collective what) {
  const ClusterGraph graph(c);
  std::vector<Transfer> all;
  for (const auto& group : groups_of(p, kind)) {
    const auto some =
        what == Collective::all_to_all ? all_to_all_transfers(group, kSize) : ring_transfers(c, group, kSize);
    all.insert(all.end(), some.begin(), some.end());
  }
  const auto worst = bottleneck(graph, link_loads(graph, all));
  return worst ? worst->seconds : 0.0;
}

double closed_seconds(const Cluster& c, const Parallelism& p, GroupKind kind, Collective what) {
  const Legs legs = collective_legs(c, what, span_of(c, p, kind), kSize);
  return std::max(legs.node ? legs.node->seconds() : 0.0, legs.fabric ? legs.fabric->seconds() : 0.0);
}

} // namespace

TEST_CASE("Rail fabric: closed forms equal the busiest link") {
  const Cluster clusters[] = {rail_cluster(1), rail_cluster(8, 8, 8), rail_cluster(8, 8, 4), rail_cluster(16, 4, 4)};
  for (const Cluster& c : clusters)
    for (const Grid& g : {Grid{1, 1, 8, 1}, Grid{1, 1, 1, 1}, Grid{2, 2, 4, 1}, Grid{4, 1, 8, 1}, Grid{4, 2, 2, 4}}) {
      const Parallelism p = parallelism(c, g);
      if (p.world_size % (p.pp * p.group_size()) != 0) continue;
      for (const GroupKind kind : {GroupKind::tp, GroupKind::dp, GroupKind::ep, GroupKind::edp})
        for (const Collective what : {Collective::all_gather, Collective::all_to_all}) {
          CAPTURE(c.nodes);
          CAPTURE(std::string(name(kind)));
          CAPTURE(std::string(name(what)));
          CAPTURE(span_of(c, p, kind).ranks);
          CAPTURE(span_of(c, p, kind).nodes);
          CHECK(closed_seconds(c, p, kind, what) == doctest::Approx(exact_seconds(c, p, kind, what)).epsilon(1e-9));
        }
    }
}

TEST_CASE("Slow scale-up: what changes rail crosses it, and it becomes the bottleneck") {
  Cluster c = rail_cluster(8, 8, 8);
  c.node.scale_up.bandwidth = Bandwidth{30e9};
  const Parallelism p = parallelism(c, {1, 1, 64, 1});
  const double closed = closed_seconds(c, p, GroupKind::ep, Collective::all_to_all);
  CHECK(closed == doctest::Approx(kSize * 7.0 / 8.0 / 30e9));
  CHECK(closed == doctest::Approx(exact_seconds(c, p, GroupKind::ep, Collective::all_to_all)).epsilon(1e-9));
  // A ring leaves 1 of g hops to the NICs; the closed form does not take that credit.
  const double ring = closed_seconds(c, p, GroupKind::ep, Collective::all_gather);
  CHECK(ring * 7.0 / 8.0 == doctest::Approx(exact_seconds(c, p, GroupKind::ep, Collective::all_gather)).epsilon(1e-9));
}

TEST_CASE("Two planes and one have the same bottleneck") {
  Cluster c = rail_cluster(8, 8, 4);
  c.fabric.planes = 2;
  const Parallelism p = parallelism(c, {1, 1, 64, 1});
  for (const Collective what : {Collective::all_gather, Collective::all_to_all})
    CHECK(closed_seconds(c, p, GroupKind::ep, what) ==
          doctest::Approx(exact_seconds(c, p, GroupKind::ep, what)).epsilon(1e-9));
}

TEST_CASE("Oversubscribed fat tree: closed forms equal the busiest link") {
  for (const double oversubscription : {1.0, 2.0, 4.0}) {
    const Cluster c = fat_tree_cluster(16, 4, 4, oversubscription);
    for (const Grid& g : {Grid{1, 1, 64, 1}, Grid{1, 1, 8, 1}, Grid{4, 1, 4, 1}}) {
      const Parallelism p = parallelism(c, g);
      for (const GroupKind kind : {GroupKind::dp, GroupKind::ep, GroupKind::edp})
        for (const Collective what : {Collective::all_gather, Collective::all_to_all}) {
          CAPTURE(oversubscription);
          CAPTURE(std::string(name(kind)));
          CAPTURE(std::string(name(what)));
          CAPTURE(span_of(c, p, kind).ranks);
          CHECK(closed_seconds(c, p, kind, what) == doctest::Approx(exact_seconds(c, p, kind, what)).epsilon(1e-9));
        }
    }
  }
}

TEST_CASE("Dragonfly: closed forms equal the busiest link when all groups take part") {
  const Cluster c = dragonfly_cluster(5);
  const Parallelism p = parallelism(c, {1, 1, 1, 1});
  for (const Collective what : {Collective::all_gather, Collective::all_to_all})
    CHECK(closed_seconds(c, p, GroupKind::dp, what) ==
          doctest::Approx(exact_seconds(c, p, GroupKind::dp, what)).epsilon(1e-9));
}
