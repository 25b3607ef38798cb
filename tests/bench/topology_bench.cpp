// Building the graph of large clusters, placing groups, pricing a collective, sharing links.
#include <benchmark/benchmark.h>

#include "sim/cost/collective.h"
#include "sim/exec/flow_sim.h"
#include "tests/support/clusters.h"

namespace {

using namespace tessella;
using namespace tessella::testing;

// Dual-plane segments of 128 nodes, as topologies/hopper_rail_12288.yaml.
Cluster segments(std::int64_t gpus) {
  Cluster c = rail_cluster(gpus / 8, 8, 128);
  c.fabric.planes = 2;
  c.fabric.oversubscription = 128.0 * 25.0 / (60.0 * 50.0);
  return c;
}

Parallelism grid(std::int64_t world) {
  Parallelism p;
  p.world_size = world;
  p.pp = 16;
  p.ep = 64;
  return p;
}

void build_graph(benchmark::State& state) {
  const Cluster c = segments(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(ClusterGraph(c).links().size());
  state.SetComplexityN(state.range(0));
}
BENCHMARK(build_graph)->RangeMultiplier(2)->Range(1536, 12288)->Unit(benchmark::kMillisecond)->Complexity();

void place_groups(benchmark::State& state) {
  const Cluster c = segments(12288);
  const Parallelism p = grid(12288);
  for (auto _ : state) benchmark::DoNotOptimize(span_of(c, p, GroupKind::ep));
}
BENCHMARK(place_groups)->Unit(benchmark::kMicrosecond);

void price_dispatch(benchmark::State& state) {
  const Cluster c = segments(12288);
  const CollectiveModel model(c);
  const GroupSpan span = span_of(c, grid(12288), GroupKind::ep);
  const ExpertTraffic traffic{7168, 2.0, 256, 8, 4, 4096};
  std::int64_t tokens = 32768;
  for (auto _ : state) benchmark::DoNotOptimize(model.expert_time(Dispatcher::deepep, false, span, traffic, ++tokens));
}
BENCHMARK(price_dispatch);

// One all-to-all of n ranks at flow level: n (n-1) flows.
void flow_all_to_all(benchmark::State& state) {
  const std::int64_t ranks = state.range(0);
  const ClusterGraph graph(rail_cluster(ranks / 8, 8, 4));
  std::vector<Rank> group;
  for (std::int64_t r = 0; r < ranks; ++r) group.push_back(Rank(static_cast<std::int32_t>(r)));
  const std::vector<Flow> flows = flows_of(all_to_all_transfers(group, 64e6));
  for (auto _ : state) benchmark::DoNotOptimize(simulate_flows(graph, flows));
  state.SetComplexityN(static_cast<std::int64_t>(flows.size()));
}
BENCHMARK(flow_all_to_all)->RangeMultiplier(2)->Range(32, 128)->Unit(benchmark::kMillisecond)->Complexity();

} // namespace

BENCHMARK_MAIN();
