// All-to-all bounds and metamorphic checks that users ask of a network model; closed forms against published formulas.
// Wire speed unless said: what the links allow, without software.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/base/error.h"
#include "sim/cost/collective_table.h"
#include "tests/support/clusters.h"
#include "tests/support/wire_profile.h"

using namespace tessella;
using namespace tessella::testing;

namespace {

constexpr Bytes kLarge{std::int64_t{1} << 30};

double busbw(const Cluster& cluster, Collective c, std::int64_t ranks, Bytes size = kLarge) {
  const GroupSpan span = span_of_first(cluster, ranks);
  return collective_table(CollectiveModel(cluster), c, span, std::vector{size})[0].busbw.bytes_per_second / 1e9;
}

Parallelism dense(std::int64_t world, std::int64_t tp) {
  Parallelism p;
  p.world_size = world;
  p.tp = tp;
  return p;
}

double binomial(double n, double k) {
  return std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0));
}

} // namespace

TEST_CASE("Ideal all-to-all busbw is (n-1)/(n-g) times the NIC") {
  // nccl-tests issue 130: about N/(N-1) times the NIC rate.
  struct Row {
    std::int64_t nodes;
    double low, high;
  };
  for (const Row& row : {Row{2, 93.7, 100.1}, Row{6, 58.7, 60.1}, Row{16, 52.9, 53.4}}) {
    const std::int64_t n = row.nodes * 8;
    const double value = busbw(rail_cluster(row.nodes), Collective::all_to_all, n);
    CAPTURE(row.nodes);
    CHECK(value >= row.low);
    CHECK(value <= row.high);
    CHECK(value == doctest::Approx(50.0 * static_cast<double>(n - 1) / static_cast<double>(n - 8)).epsilon(1e-6));
  }
}

TEST_CASE("Measured all-to-all far below the ideal keeps its efficiency") {
  CHECK(25.0 / busbw(rail_cluster(2), Collective::all_to_all, 16) == doctest::Approx(0.2667).epsilon(0.01));
  CHECK(20.0 / busbw(rail_cluster(16), Collective::all_to_all, 128) == doctest::Approx(0.378).epsilon(0.01));
}

TEST_CASE("Algorithm to bus bandwidth follows nccl-tests") {
  CHECK(100.0 * busbw_factor(Collective::all_to_all, 16) == 93.75);
  CHECK(busbw_factor(Collective::all_reduce, 8) == 1.75);
  CHECK(busbw_factor(Collective::send_recv, 2) == 1.0);
}

TEST_CASE("A tensor group inside a node does not see more nodes, a world group does") {
  const Bytes size{16777216};
  Duration tensor[2];
  Duration world[2];
  for (const int i : {0, 1}) {
    const std::int64_t ranks = i == 0 ? 32 : 64;
    const Cluster c = with_latencies(rail_cluster(ranks / 8));
    const CollectiveModel model(c);
    tensor[i] = model.time(Collective::all_reduce, span_of(c, dense(ranks, 8), GroupKind::tp), size);
    world[i] = model.time(Collective::all_reduce, span_of(c, dense(ranks, 1), GroupKind::dp), size);
  }
  CHECK(tensor[0] == tensor[1]);
  CHECK(world[1] > world[0]);
}

TEST_CASE("Bus bandwidth of a ring never exceeds the bottleneck link") {
  Cluster c = rail_cluster(8);
  c.node.nic.bandwidth = Bandwidth{25e9};
  const CollectiveModel model(c);
  const GroupSpan data = span_of(c, dense(64, 8), GroupKind::dp); // one rank per node, 25 GB/s each
  for (const Bytes size : doubling_sizes(Bytes{1024}, kLarge))
    for (const CollectiveRow& row : collective_table(model, Collective::reduce_scatter, data, std::vector{size}))
      CHECK(row.busbw.bytes_per_second <= 25e9 * (1.0 + 1e-9));
  CHECK(busbw(rail_cluster(1), Collective::all_reduce, 8) == doctest::Approx(450.0));  // NVLink of one node
  CHECK(busbw(rail_cluster(4), Collective::all_gather, 32) == doctest::Approx(400.0)); // its eight NICs
}

TEST_CASE("A slower NIC is never faster") {
  Duration last{0};
  for (const double scale : {1.0, 0.5, 0.1, 0.01}) {
    Cluster c = with_latencies(rail_cluster(4));
    c.node.nic.bandwidth = c.node.nic.bandwidth * scale;
    const Duration t = CollectiveModel(c).time(Collective::all_to_all, span_of_first(c, 32), Bytes{1 << 26});
    CHECK(t > last);
    last = t;
  }
}

TEST_CASE("Ring all-gather takes (n-1)(alpha + S/(n beta))") {
  // Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", 2005. S: gathered
  // size.
  const double alpha = 2e-6;
  for (const std::int64_t n : {2, 3, 8, 16}) {
    Cluster c = rail_cluster(1, n);
    const double beta = c.node.scale_up.bandwidth.bytes_per_second;
    const double expected = static_cast<double>(n - 1) * (alpha + 1e8 / (static_cast<double>(n) * beta));
    // alpha as the profile's latency per rank, then as the link's own latency
    const Profile profile = collective_profile({0.0, alpha, 1.0, 0.0}, {});
    CHECK(CollectiveModel(c, profile).time(Collective::all_gather, span_of_first(c, n), Bytes{100'000'000}).seconds() ==
          doctest::Approx(expected).epsilon(1e-7));
    c.node.scale_up.latency = Duration{2'000'000};
    CHECK(CollectiveModel(c).time(Collective::all_gather, span_of_first(c, n), Bytes{100'000'000}).seconds() ==
          doctest::Approx(expected).epsilon(1e-7));
  }
}

TEST_CASE("Oversubscription slows what leaves the leaf, and nothing else") {
  const auto at = [](double oversubscription, Collective c, std::int64_t ranks) {
    return busbw(fat_tree_cluster(32, 8, 4, oversubscription), c, ranks);
  };
  CHECK(at(4.0, Collective::all_to_all, 32) == doctest::Approx(at(1.0, Collective::all_to_all, 32))); // one leaf
  // 8 leaves: 224 of 256 ranks are beyond the leaf, at a quarter of the NIC.
  CHECK(at(4.0, Collective::all_to_all, 256) == doctest::Approx(50.0 / 4.0 * 255.0 / 224.0));
  // A ring leaves the leaf on one of four hops: four nodes share what one hop needs.
  CHECK(at(4.0, Collective::all_gather, 256) == doctest::Approx(400.0));
  CHECK(at(8.0, Collective::all_gather, 256) == doctest::Approx(200.0));
}

TEST_CASE("Dragonfly: all-to-all over all groups is held up by the taper of the global links") {
  // Frontier: 128 nodes x 4 NICs against 73 x 4 global links of the same rate a group, taper 1.753.
  Cluster c = dragonfly_cluster(1);
  c.nodes = 74 * 128;
  c.fabric.switches_per_group = 32;
  c.fabric.nodes_per_group = 128;
  const double n = static_cast<double>(c.num_gpus());
  const double beyond = n - 128.0 * 8.0;
  CHECK(busbw(c, Collective::all_to_all, c.num_gpus()) ==
        doctest::Approx(12.5 / 1.7534 * (n - 1.0) / beyond).epsilon(1e-3));
}

TEST_CASE("Piper's bound on dispatch plus combine is ours for very many nodes") {
  // arXiv 2605.05049: T >= 4 b s k d / (EP B_NIC) for dispatch and combine of 2-byte elements, B_NIC per GPU.
  const Cluster c = rail_cluster(512, 8, 512);
  const std::int64_t n = c.num_gpus();
  const ExpertTraffic traffic{5120, 2.0, n, 2, 0, 4096};
  const CollectiveModel model(c);
  const GroupSpan span = span_of_first(c, n);
  const double both = model.expert_time(Dispatcher::alltoall, false, span, traffic, 8192).seconds() +
                      model.expert_time(Dispatcher::alltoall, true, span, traffic, 8192).seconds();
  const double bound = 4.0 * 4096.0 * 2.0 * 5120.0 / 50e9;
  CHECK(both / bound == doctest::Approx(1.0 - 8.0 / static_cast<double>(n)).epsilon(1e-6));
}

TEST_CASE("HALO: max(local, remote) + redistribution, and its gain from batching") {
  // By hand: 2 nodes of 8, S = 1.6 GB. local 7/16 S and redistribution 8/16 * 7/8 S on 450 GB/s, remote 8/16 S on 50.
  const Cluster two = rail_cluster(2);
  CHECK(CollectiveModel(two).halo_time(span_of_first(two, 16), Bytes{1'600'000'000}).seconds() ==
        doctest::Approx(0.8e9 / 50e9 + 0.7e9 / 450e9));
  CHECK(CollectiveModel(rail_cluster(1)).halo_time(span_of_first(two, 8), Bytes{1 << 30}) ==
        CollectiveModel(rail_cluster(1)).time(Collective::all_to_all, span_of_first(two, 8), Bytes{1 << 30}));
  // Frontier-like nodes (8 GPUs, 4 NICs), a cost per peer: 1.1 to 9 times faster from 16 nodes on (arXiv 2605.05049,
  // the widest of its three ranges), parity or worse on few nodes.
  Cluster c = dragonfly_cluster(1);
  c.nodes = 512;
  c.fabric.switches_per_group = 32;
  c.fabric.nodes_per_group = 128;
  const Profile profile = collective_profile({10e-6, 1e-6, 1.0, 0.0}, {20e-6, 5e-6, 1.0, 0.0});
  const CollectiveModel model(c, profile);
  const auto gain = [&](std::int64_t nodes, std::int64_t size) {
    const GroupSpan span = span_of_first(c, nodes * 8);
    return model.time(Collective::all_to_all, span, Bytes{size}).seconds() /
           model.halo_time(span, Bytes{size}).seconds();
  };
  for (const std::int64_t nodes : {16, 64, 512}) {
    CHECK(gain(nodes, 1 << 20) > 1.1);
    CHECK(gain(nodes, 1 << 20) < 9.0);
  }
  CHECK(gain(2, 1 << 28) < 1.0); // the second hop is not free
  CHECK_THROWS_AS(
      collective_table(model, Collective::all_gather, span_of_first(c, 16), std::vector{kLarge}, Algorithm::halo),
      InputError);
}

TEST_CASE("Expected copies of a token") {
  const Cluster c = rail_cluster(8);
  // DeepSeek-V3: 256 experts, top-8 on at most 4 of 8 nodes: 3.5 remote nodes; 4096 tokens of 7168 fp8 with scales
  // are 106 MB over RDMA (science: communication volumes).
  const ExpertTraffic v3{7168, 1.0 + 4.0 / 128.0, 256, 8, 4, 4096};
  const Copies copies = expected_copies(span_of_first(c, 64), v3);
  CHECK(copies.remote_nodes == doctest::Approx(3.5));
  const Legs legs = expert_legs(c, Dispatcher::deepep, false, span_of_first(c, 64), v3, 4096 * 8);
  CHECK(legs.fabric->bytes == doctest::Approx(106e6).epsilon(0.01));
  // Unrestricted: N (1 - C(E-E/N, K) / C(E, K)) nodes, (N-1)/N of them remote; the same over ranks.
  ExpertTraffic open = v3;
  open.topk_groups = 0;
  const double nodes = 8.0 * (1.0 - binomial(224, 8) / binomial(256, 8));
  const double ranks = 64.0 * (1.0 - binomial(252, 8) / binomial(256, 8));
  CHECK(expected_copies(span_of_first(c, 64), open).remote_nodes == doctest::Approx(nodes * 7.0 / 8.0).epsilon(1e-9));
  CHECK(expected_copies(span_of_first(c, 64), open).ranks == doctest::Approx(ranks).epsilon(1e-9));
  // One expert per rank and top-1: exactly one copy.
  const ExpertTraffic top1{1024, 2.0, 64, 1, 0, 0};
  CHECK(expected_copies(span_of_first(c, 64), top1).ranks == doctest::Approx(1.0));
  CHECK(expected_copies(span_of_first(c, 64), top1).remote_nodes == doctest::Approx(7.0 / 8.0));
  // Top-K of K experts reaches every rank that holds one.
  CHECK(expected_copies(span_of_first(c, 64), ExpertTraffic{1024, 2.0, 64, 64, 0, 0}).ranks == doctest::Approx(64.0));
}

TEST_CASE("De-duplication needs less of the NICs than plain all-to-all") {
  const Cluster c = rail_cluster(8);
  const ExpertTraffic v3{7168, 2.0, 256, 8, 4, 4096};
  const GroupSpan span = span_of_first(c, 64);
  const double plain = expert_legs(c, Dispatcher::alltoall, false, span, v3, 32768).fabric->bytes;
  const double dedup = expert_legs(c, Dispatcher::hybridep, false, span, v3, 32768).fabric->bytes;
  CHECK(plain / dedup == doctest::Approx(8.0 * 7.0 / 8.0 / 3.5)); // 7 remote copies against 3.5
}

TEST_CASE("The hottest rank sets the pace, its node shares the NICs") {
  const Cluster c = rail_cluster(8);
  const ExpertTraffic v3{7168, 2.0, 256, 8, 4, 4096};
  const GroupSpan span = span_of_first(c, 64);
  const auto legs = [&](Dispatcher d, std::int64_t tokens) { return expert_legs(c, d, false, span, v3, tokens); };
  const std::int64_t mean = 4096 * 8;
  CHECK(legs(Dispatcher::alltoall, 2 * mean).fabric->bytes == 2.0 * legs(Dispatcher::alltoall, mean).fabric->bytes);
  CHECK(legs(Dispatcher::deepep, 2 * mean).node->bytes ==
        doctest::Approx(2.0 * legs(Dispatcher::deepep, mean).node->bytes));
  CHECK(legs(Dispatcher::deepep, 2 * mean).fabric->bytes ==
        doctest::Approx(9.0 / 8.0 * legs(Dispatcher::deepep, mean).fabric->bytes));
  // Below the mean the senders decide.
  CHECK(legs(Dispatcher::deepep, 0).fabric->bytes == doctest::Approx(legs(Dispatcher::deepep, mean).fabric->bytes));
  // An all-gather does not care for the routing.
  CHECK(legs(Dispatcher::allgather, 2 * mean).fabric->bytes == legs(Dispatcher::allgather, mean).fabric->bytes);
}

TEST_CASE("Published dispatch bandwidths stay below the wire, and within 25 % of it from four nodes on") {
  // DeepEP on 8 x 400 Gb/s InfiniBand, H100, 4096 tokens, 7168, top-8 of 256 in 4 groups; GB/s of RDMA bytes counted
  // with the sender's own node (deepseek-ai/DeepEP, README-NCCL, branch at 2be3057).
  struct Row {
    std::int64_t ranks;
    double published;
  };
  for (const Row& row : {Row{16, 79.7}, Row{32, 62.9}, Row{64, 53.5}}) {
    const Cluster c = rail_cluster(row.ranks / 8);
    const GroupSpan span = span_of_first(c, row.ranks);
    const ExpertTraffic v3{7168, 1.0 + 4.0 / 128.0, 256, 8, 4, 4096};
    const Leg leg = *expert_legs(c, Dispatcher::deepep, false, span, v3, 4096 * 8).fabric;
    const double counted = leg.bytes * static_cast<double>(span.nodes) / static_cast<double>(span.nodes - 1);
    const double bound = counted / leg.seconds() / 1e9;
    CAPTURE(row.ranks);
    CAPTURE(bound);
    CHECK(row.published < bound);
    CHECK(row.published > 0.75 * bound);
  }
}
