// Laws of the network model on random clusters and profiles: more bandwidth is never slower, more bytes, latency,
// nodes or oversubscription never faster, and no leg beats its link.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "sim/base/rng.h"
#include "sim/cost/collective_table.h"
#include "tests/support/clusters.h"
#include "tests/support/wire_profile.h"

using namespace tessella;
using namespace tessella::testing;

namespace {

constexpr Collective kAll[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                               Collective::all_to_all, Collective::send_recv};
constexpr Dispatcher kDispatchers[] = {Dispatcher::alltoall, Dispatcher::allgather, Dispatcher::deepep,
                                       Dispatcher::hybridep};

// Draws addressed one after another.
struct Draws {
  Stream stream;
  std::uint64_t next = 0;
  double real(double low, double high) { return low + (high - low) * stream.uniform(next++); }
  std::int64_t pick(std::initializer_list<std::int64_t> values) {
    return values.begin()[stream.word(next++) % values.size()];
  }
};

struct Case {
  Cluster cluster;
  Profile profile;
  GroupSpan span;
  Bytes size;
  ExpertTraffic traffic;
  std::int64_t tokens = 0;
};

CollectiveParams random_params(Draws& d) {
  return {d.real(0.0, 50e-6), d.real(0.0, 5e-6), d.real(0.2, 1.0), d.real(0.0, 3e7)};
}

Case random_case(std::uint64_t seed) {
  Draws d{Stream(seed, Purpose::test)};
  Case c;
  const std::int64_t gpus = d.pick({1, 2, 4, 8, 72});
  const std::int64_t nodes = d.pick({1, 2, 3, 5, 8, 16, 32});
  const std::int64_t shape = d.pick({0, 1, 2});
  c.cluster = shape == 0   ? rail_cluster(nodes, gpus, d.pick({1, 2, 4, 8}))
              : shape == 1 ? fat_tree_cluster(nodes, gpus, d.pick({1, 2, 4, 8}), d.real(1.0, 6.0))
                           : dragonfly_cluster(d.pick({1, 2, 3, 4}));
  if (d.pick({0, 1}) == 1) c.cluster = with_latencies(c.cluster);
  const CollectiveParams node = random_params(d);
  CollectiveParams fabric = random_params(d); // never better than the node tier
  fabric.latency += node.latency;
  fabric.latency_per_rank += node.latency_per_rank;
  fabric.efficiency *= node.efficiency;
  fabric.half_size += node.half_size;
  c.profile = collective_profile(node, fabric);
  c.span = span_of_first(c.cluster, 1 + static_cast<std::int64_t>(d.stream.word(d.next++) %
                                                                  static_cast<std::uint64_t>(c.cluster.num_gpus())));
  c.size = Bytes{d.pick({0, 1, 4096, 1 << 20, 1 << 26, std::int64_t{1} << 32})};
  c.traffic = {7168, 2.0, c.span.ranks * d.pick({1, 2, 4}), 1, d.pick({0, 1, 4}), d.pick({0, 100, 4096})};
  c.traffic.router_topk = std::min<std::int64_t>(8, c.traffic.num_experts);
  c.tokens = d.pick({0, 100, 4096, 100000});
  return c;
}

// Every price of a case, in a fixed order.
std::vector<Duration> prices(const Case& c) {
  const CollectiveModel model(c.cluster, c.profile);
  std::vector<Duration> all;
  for (const Collective what : kAll) all.push_back(model.time(what, c.span, c.size));
  for (const Dispatcher d : kDispatchers)
    for (const bool combine : {false, true}) all.push_back(model.expert_time(d, combine, c.span, c.traffic, c.tokens));
  return all;
}

// No price of `worse` may be below that of `better`.
void never_faster(const std::function<void(Case&)>& make_worse) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Case better = random_case(seed);
    Case worse = better;
    make_worse(worse);
    const auto a = prices(better);
    const auto b = prices(worse);
    for (std::size_t i = 0; i < a.size(); ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      CHECK(b[i].ps >= a[i].ps - 1); // one picosecond of rounding
    }
  }
}

} // namespace

TEST_CASE("Less bandwidth is never faster") {
  never_faster([](Case& c) { c.cluster.node.nic.bandwidth = c.cluster.node.nic.bandwidth * 0.7; });
  never_faster([](Case& c) { c.cluster.node.scale_up.bandwidth = c.cluster.node.scale_up.bandwidth * 0.7; });
  never_faster([](Case& c) { c.cluster.fabric.global_link.bandwidth = c.cluster.fabric.global_link.bandwidth * 0.7; });
  never_faster([](Case& c) { c.cluster.fabric.oversubscription *= 1.5; });
}

TEST_CASE("More latency is never faster") {
  never_faster([](Case& c) { c.cluster.node.nic.latency += Duration{50'000'000}; });
  never_faster([](Case& c) { c.cluster.node.scale_up.latency += Duration{50'000'000}; });
  never_faster([](Case& c) { c.cluster.fabric.switch_latency += Duration{50'000'000}; });
}

TEST_CASE("More bytes or tokens are never faster") {
  never_faster([](Case& c) { c.size = Bytes{c.size.count * 2 + 1}; });
  never_faster([](Case& c) { c.tokens = c.tokens * 2 + 1; });
  never_faster([](Case& c) { c.traffic.bytes_per_element *= 2.0; });
}

TEST_CASE("More nodes with the same ranks on each are never faster") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Case c = random_case(seed);
    const std::int64_t gpus = c.cluster.node.gpus;
    std::vector<Duration> last;
    for (std::int64_t nodes = 1; nodes <= c.cluster.nodes; ++nodes) {
      c.span = span_of_first(c.cluster, nodes * gpus);
      const CollectiveModel model(c.cluster, c.profile);
      std::vector<Duration> now;
      for (const Collective what : kAll) now.push_back(model.time(what, c.span, c.size));
      for (std::size_t i = 0; i < last.size(); ++i) {
        CAPTURE(seed);
        CAPTURE(nodes);
        CAPTURE(std::string(name(kAll[i])));
        CHECK(now[i].ps >= last[i].ps - 1);
      }
      last = now;
    }
  }
}

TEST_CASE("The same ranks on more nodes are never faster") {
  // 64 ranks, g per node; DP of a tensor-parallel job has g = 8 / TP. Without latencies: one rank per node stays on its
  // rail and saves the hop over the scale-up switch.
  for (const double nic : {12.5e9, 50e9, 200e9}) {
    Cluster c = rail_cluster(64, 8, 4);
    c.node.nic.bandwidth = Bandwidth{nic};
    for (const Collective what : kAll) {
      Duration last{0};
      for (const std::int64_t tp : {1, 2, 4, 8}) {
        Parallelism p;
        p.tp = tp;
        p.world_size = 64 * tp;
        const Duration now = CollectiveModel(c).time(what, span_of(c, p, GroupKind::dp), Bytes{1 << 26});
        CAPTURE(std::string(name(what)));
        CHECK(now >= last);
        last = now;
      }
    }
  }
}

TEST_CASE("No leg beats its link, and rings not the bottleneck as busbw") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Case c = random_case(seed);
    if (c.span.ranks < 2) continue;
    const CollectiveModel model(c.cluster, c.profile);
    const Cluster& k = c.cluster;
    const double nics = k.node.nic.bandwidth.bytes_per_second * static_cast<double>(k.node.nics) /
                        static_cast<double>(k.node.gpus) * static_cast<double>(c.span.ranks_per_node);
    const double link = c.span.nodes > 1 && c.span.ranks_per_node > 1
                            ? std::min(nics, k.node.scale_up.bandwidth.bytes_per_second)
                        : c.span.nodes > 1 ? nics
                                           : k.node.scale_up.bandwidth.bytes_per_second;
    for (const Collective what : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
      const auto rows = collective_table(model, what, c.span, std::vector{c.size});
      CAPTURE(seed);
      CHECK(rows[0].busbw.bytes_per_second <= link * (1.0 + 1e-6) + 1.0);
    }
  }
}
