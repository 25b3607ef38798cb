// The flow-level simulation against the closed forms, and against SimGrid where it is installed.
//
// Agreement with the closed forms, wire speed, no latency, all groups of a kind at once:
//   ring all-gather, all-to-all on rail fabrics and 1:1 or oversubscribed fat trees with fixed routes   1e-6
//   hashed routes (ECMP) collide: never faster than fixed; on these clusters up to 4 times slower
//   groups that straddle nodes unevenly: the closed form takes the fullest node, so it may differ; it is shown below
// Agreement with SimGrid 3.32 (model CM02 without its correction factors): completion times to 0.1 %.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "sim/base/rng.h"
#include "sim/cost/collective.h"
#include "sim/cost/wire.h"
#include "sim/exec/flow_sim.h"
#include "tests/support/clusters.h"
#ifdef TESSELLA_SIMGRID
#include "tests/support/simgrid_flows.h"
#endif

using namespace tessella;
using namespace tessella::testing;

namespace {

constexpr double kSize = 64e6;

double flow_seconds(const Cluster& c, const Parallelism& p, GroupKind kind, Collective what, Routing routing) {
  std::vector<Transfer> all;
  for (const auto& group : groups_of(p, kind)) {
    const auto some =
        what == Collective::all_to_all ? all_to_all_transfers(group, kSize) : ring_transfers(c, group, kSize);
    all.insert(all.end(), some.begin(), some.end());
  }
  const auto ends = simulate_flows(ClusterGraph(c), flows_of(all), routing);
  return std::max_element(ends.begin(), ends.end())->seconds();
}

double closed_seconds(const Cluster& c, const Parallelism& p, GroupKind kind, Collective what) {
  const Legs legs = collective_legs(c, what, span_of(c, p, kind), kSize);
  return std::max(legs.node ? legs.node->seconds() : 0.0, legs.fabric ? legs.fabric->seconds() : 0.0);
}

Parallelism grid(const Cluster& c, std::int64_t tp, std::int64_t ep) {
  Parallelism p;
  p.world_size = c.num_gpus();
  p.tp = tp;
  p.ep = ep;
  return p;
}

double last_arrival(const Cluster& c, const std::vector<Transfer>& transfers) {
  const auto ends = simulate_flows(ClusterGraph(c), flows_of(transfers));
  return std::max_element(ends.begin(), ends.end())->seconds();
}

// HALO's phases as messages: I, inside the nodes, beside II, one message per remote node, between ranks of equal place;
// then III, what II brought, inside the nodes.
double halo_flow_seconds(const Cluster& c, double size) {
  const auto n = static_cast<std::int32_t>(c.num_gpus());
  const auto g = static_cast<std::int32_t>(c.node.gpus);
  std::vector<Transfer> first, third;
  for (std::int32_t from = 0; from < n; ++from)
    for (std::int32_t to = 0; to < n; ++to) {
      const bool inside = from / g == to / g;
      if (inside && from != to) {
        first.push_back({Rank(from), Rank(to), size / n});
        third.push_back({Rank(from), Rank(to), size * (n - g) / n / g});
      }
      if (!inside && from % g == to % g) first.push_back({Rank(from), Rank(to), size * g / n});
    }
  return last_arrival(c, first) + last_arrival(c, third);
}

// Flows of random size, ends and start on a cluster with latencies.
std::vector<Flow> random_flows(const Cluster& c, std::uint64_t seed, int count) {
  const Stream s(seed, Purpose::test, 2);
  const auto rank = [&](std::uint64_t i) {
    return Rank(static_cast<std::int32_t>(s.word(i) % static_cast<std::uint64_t>(c.num_gpus())));
  };
  std::vector<Flow> flows;
  for (std::uint64_t i = 0; flows.size() < static_cast<std::size_t>(count); i += 4) {
    const Flow f{rank(i), rank(i + 1), Bytes{1'000'000 + static_cast<std::int64_t>(s.word(i + 2) % 200'000'000)},
                 Time{static_cast<std::int64_t>(s.word(i + 3) % 3'000'000'000)}};
    const auto same_ends = [&](const Flow& g) { return g.from == f.from && g.to == f.to; };
    if (f.from != f.to && std::none_of(flows.begin(), flows.end(), same_ends)) flows.push_back(f);
  }
  return flows;
}

} // namespace

TEST_CASE("Flow level equals the closed forms with fixed routes") {
  const Cluster clusters[] = {rail_cluster(1), rail_cluster(8, 4, 8), rail_cluster(8, 4, 2),
                              fat_tree_cluster(8, 4, 2, 2.0)};
  for (const Cluster& c : clusters)
    for (const std::int64_t ep : {4, 8, 32})
      for (const Collective what : {Collective::all_gather, Collective::all_to_all}) {
        if (ep > c.num_gpus()) continue;
        const Parallelism p = grid(c, 1, ep);
        CAPTURE(c.nodes);
        CAPTURE(ep);
        CAPTURE(std::string(name(what)));
        const double fixed = flow_seconds(c, p, GroupKind::ep, what, Routing::fixed);
        CHECK(fixed == doctest::Approx(closed_seconds(c, p, GroupKind::ep, what)).epsilon(1e-6));
        const double hashed = flow_seconds(c, p, GroupKind::ep, what, Routing::ecmp);
        CHECK(hashed >= fixed * (1.0 - 1e-9));
        CHECK(hashed <= 4.0 * fixed);
      }
}

TEST_CASE("HALO's three phases at flow level equal the closed form, as long as local links of a dragonfly are no "
          "bottleneck") {
  Cluster frontier = dragonfly_cluster(1); // NICs, GPUs and scale-up of Frontier; groups of 8 nodes
  frontier.node.scale_up.bandwidth = Bandwidth{50e9};
  Cluster few = frontier;
  few.nodes = 2;
  Cluster rail = rail_cluster(4);
  for (const Cluster& c : {few, frontier, rail}) {
    CAPTURE(c.nodes);
    const double closed = CollectiveModel(c).halo_time(span_of_first(c, c.num_gpus()), Bytes{64'000'000}).seconds();
    CHECK(halo_flow_seconds(c, 64e6) == doctest::Approx(closed).epsilon(1e-6));
  }
  // Minimal routes over thin local links: what the closed form, with its adaptive routes, leaves out.
  frontier.fabric.local_link.bandwidth = Bandwidth{25e9};
  CHECK(halo_flow_seconds(frontier, 64e6) >
        1.5 * CollectiveModel(frontier).halo_time(span_of_first(frontier, 64), Bytes{64'000'000}).seconds());
}

TEST_CASE("A group that straddles nodes unevenly: the flow level is exact, the closed form takes the fullest node") {
  // Ranks 0-7 and 8-11: the four on the emptier node each send 8/12 over their NIC, the eight 4/12.
  const Cluster c = rail_cluster(2);
  std::vector<Rank> group;
  for (int r = 0; r < 12; ++r) group.push_back(Rank(r));
  const auto ends = simulate_flows(ClusterGraph(c), flows_of(all_to_all_transfers(group, kSize)));
  CHECK(std::max_element(ends.begin(), ends.end())->seconds() ==
        doctest::Approx(kSize * 8.0 / 12.0 / 50e9).epsilon(1e-6));
  const Legs legs = collective_legs(c, Collective::all_to_all, span_of_ranks(c, group), kSize);
  CHECK(legs.fabric->seconds() == doctest::Approx(kSize * 4.0 / 12.0 / 50e9));
}

TEST_CASE("SimGrid: the same flows on the same links arrive at the same time") {
#ifdef TESSELLA_SIMGRID
  const Cluster clusters[] = {with_latencies(rail_cluster(4, 4, 2)), with_latencies(fat_tree_cluster(8, 2, 2, 2.0)),
                              with_latencies(dragonfly_cluster(3))};
  std::vector<SimgridCase> cases;
  for (const Cluster& c : clusters) {
    cases.push_back({ClusterGraph(c), random_flows(c, 11, 60)});
    std::vector<Rank> group;
    for (int r = 0; r < 12; ++r) group.push_back(Rank(r));
    cases.push_back({ClusterGraph(c), flows_of(all_to_all_transfers(group, kSize))});
    cases.push_back({ClusterGraph(c), flows_of(ring_transfers(c, group, kSize))});
  }
  const auto expected = simgrid_arrivals(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto ends = simulate_flows(cases[i].graph, cases[i].flows);
    REQUIRE(ends.size() == expected[i].size());
    for (std::size_t f = 0; f < ends.size(); ++f) {
      CAPTURE(i);
      CAPTURE(f);
      CHECK(ends[f].seconds() == doctest::Approx(expected[i][f]).epsilon(1e-3));
    }
  }
#else
  MESSAGE("skipped: SimGrid was not found when this test was built");
#endif
}
