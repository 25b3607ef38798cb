// Flows on small clusters, by hand.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/exec/flow_sim.h"
#include "tests/support/clusters.h"

using namespace tessella;
using namespace tessella::testing;

namespace {

constexpr Bytes kGB{1'000'000'000};

std::int64_t us(Time t) {
  return t.ps / 1'000'000;
}

} // namespace

TEST_CASE("A lone flow takes its path's latency and its bytes over the narrowest link") {
  const ClusterGraph g(with_latencies(rail_cluster(2)));
  const auto ends = simulate_flows(g, std::vector<Flow>{{Rank(0), Rank(8), kGB, Time{5'000'000}}});
  CHECK(ends[0].ps == 5'000'000 + 4'300'000 + 20'000'000'000); // 1 GB at 50 GB/s = 20 ms
}

TEST_CASE("Two flows into one GPU halve; the survivor takes over the rest") {
  const ClusterGraph g(rail_cluster(4));
  const std::vector<Flow> flows{{Rank(0), Rank(8), kGB, {}}, {Rank(16), Rank(8), kGB * 2, {}}};
  const auto ends = simulate_flows(g, flows);
  CHECK(us(ends[0]) == 40'000); // 1 GB at 25 GB/s
  CHECK(us(ends[1]) == 60'000); // and 1 GB more at 50 GB/s
}

TEST_CASE("A latecomer slows what is under way") {
  const ClusterGraph g(rail_cluster(4));
  const std::vector<Flow> flows{{Rank(0), Rank(8), kGB, {}}, {Rank(16), Rank(8), kGB, Time{10'000'000'000}}};
  const auto ends = simulate_flows(g, flows);
  // 10 ms alone (0.5 GB), then halves: 0.5 GB at 25 GB/s until 30 ms; the latecomer's other half takes 10 ms.
  CHECK(us(ends[0]) == 30'000);
  CHECK(us(ends[1]) == 40'000);
}

TEST_CASE("Flows without links arrive as they start, empty ones after the latency") {
  const ClusterGraph g(with_latencies(rail_cluster(2)));
  const std::vector<Flow> flows{{Rank(3), Rank(3), kGB, Time{7}}, {Rank(0), Rank(1), Bytes{0}, Time{7}}};
  CHECK(simulate_flows(g, flows) == std::vector<Time>{Time{7}, Time{1'000'007}});
  Cluster ideal = rail_cluster(2);
  ideal.fabric.kind = FabricKind::ideal;
  CHECK(simulate_flows(ClusterGraph(ideal), std::vector<Flow>{{Rank(0), Rank(9), kGB, {}}})[0] == Time{0});
}

TEST_CASE("A flow over several planes has the rate of all together") {
  Cluster c = rail_cluster(2);
  c.fabric.planes = 2;
  CHECK(us(simulate_flows(ClusterGraph(c), std::vector<Flow>{{Rank(0), Rank(8), kGB, {}}})[0]) == 20'000);
}

TEST_CASE("Neighbouring flows on links of their own do not meet") {
  const ClusterGraph g(rail_cluster(8, 1, 4));
  std::vector<Flow> shift;
  for (int i = 0; i < 4; ++i) shift.push_back({Rank(i), Rank(i + 4), kGB, {}});
  for (const Time t : simulate_flows(g, shift)) CHECK(us(t) == 20'000);
  // Hashed routes put two of them on one uplink.
  const auto hashed = simulate_flows(g, shift, Routing::ecmp);
  CHECK(us(*std::max_element(hashed.begin(), hashed.end())) >= 40'000);
}
