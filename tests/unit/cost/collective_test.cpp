// Collectives: what is free, what is missing, which entry decides, and the table.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/base/error.h"
#include "sim/cost/collective_table.h"
#include "tests/support/clusters.h"
#include "tests/support/wire_profile.h"

using namespace tessella;
using namespace tessella::testing;

namespace {

constexpr Collective kAll[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                               Collective::all_to_all, Collective::send_recv};

const ExpertTraffic kDeepSeek{7168, 1.0 + 4.0 / 128.0, 256, 8, 4, 0};

} // namespace

TEST_CASE("An ideal fabric and a group of one rank cost exactly nothing, and need no profile entries") {
  Cluster ideal = with_latencies(rail_cluster(16));
  ideal.fabric.kind = FabricKind::ideal;
  const Profile empty;
  const CollectiveModel model(ideal, empty);
  const GroupSpan all = span_of_first(ideal, 128);
  for (const Collective c : kAll) CHECK(model.time(c, all, Bytes{1 << 30}) == Duration{0});
  for (const Dispatcher d : {Dispatcher::alltoall, Dispatcher::allgather, Dispatcher::deepep, Dispatcher::hybridep})
    CHECK(model.expert_time(d, false, all, kDeepSeek, 32768) == Duration{0});
  const Cluster real = with_latencies(rail_cluster(16));
  for (const Collective c : kAll)
    CHECK(CollectiveModel(real).time(c, span_of_first(real, 1), Bytes{1 << 30}) == Duration{0});
}

TEST_CASE("A profile that lacks a collective is refused with every missing row") {
  const Cluster cluster = rail_cluster(2);
  Profile profile = collective_profile({}, {});
  std::erase_if(profile.entries, [](const ProfileEntry& e) {
    return e.op == "all_gather" || (e.op == "send_recv" && e.tier == "fabric");
  });
  try {
    const CollectiveModel model(cluster, profile);
    FAIL("accepted");
  } catch (const NotCovered& e) {
    CHECK(e.missing() == std::vector<std::string>{"all_gather (form collective, tier node)",
                                                  "all_gather (form collective, tier fabric)",
                                                  "send_recv (form collective, tier fabric)"});
  }
}

TEST_CASE("A single node needs no fabric entries, a single GPU none at all") {
  Profile node_only;
  for (const ProfileEntry& e : collective_profile({}, {}).entries)
    if (e.tier == "node") node_only.entries.push_back(e);
  CHECK_NOTHROW(CollectiveModel(rail_cluster(1), node_only));
  CHECK_THROWS_AS(CollectiveModel(rail_cluster(2), node_only), NotCovered);
  CHECK_NOTHROW(CollectiveModel(rail_cluster(1, 1), Profile{}));
}

TEST_CASE("An unknown dispatcher is not covered; NCCL's stand in for their own") {
  const Cluster cluster = rail_cluster(2);
  Profile profile = collective_profile({}, {});
  std::erase_if(profile.entries, [](const ProfileEntry& e) { return e.op == "combine_deepep"; });
  const CollectiveModel model(cluster, profile);
  const GroupSpan span = span_of_first(cluster, 16);
  CHECK_NOTHROW(model.expert_time(Dispatcher::deepep, false, span, kDeepSeek, 100));
  CHECK_THROWS_AS(model.expert_time(Dispatcher::deepep, true, span, kDeepSeek, 100), NotCovered);
  const Bytes rows{static_cast<std::int64_t>(800 * 7168 * (1.0 + 4.0 / 128.0))};
  CHECK(model.expert_time(Dispatcher::alltoall, true, span, kDeepSeek, 800) ==
        model.time(Collective::all_to_all, span, rows));
  profile.entries.push_back(collective_entry("dispatch_alltoall", "node", {1e-3, 0.0, 1.0, 0.0}));
  CHECK(model.expert_time(Dispatcher::alltoall, false, span, kDeepSeek, 800).seconds() > 1e-3);
}

TEST_CASE("Measured latency, slope and saturation add up as the form says") {
  const Cluster cluster = rail_cluster(1);
  const Profile profile = collective_profile({10e-6, 1e-6, 0.5, 9e6}, {});
  const CollectiveModel model(cluster, profile);
  // 8 ranks, 64 MB: 56 MB of bus traffic at half of 450 GB/s, and 9 MB of ramp.
  const double expected = 10e-6 + 7e-6 + (56e6 + 9e6) / 225e9;
  CHECK(model.time(Collective::all_gather, span_of_first(cluster, 8), Bytes{64'000'000}).seconds() ==
        doctest::Approx(expected).epsilon(1e-9));
  // Nothing to send still costs the latency (and the ramp).
  CHECK(model.time(Collective::all_gather, span_of_first(cluster, 8), Bytes{0}).seconds() ==
        doctest::Approx(17e-6 + 9e6 / 225e9).epsilon(1e-6));
}

TEST_CASE("A fit that beats the wire is held to it, in bandwidth and in latency") {
  const Cluster cluster = with_latencies(rail_cluster(4));
  const Profile lying = collective_profile({0.0, 0.0, 3.0, 0.0}, {0.0, 0.0, 3.0, 0.0});
  const CollectiveModel model(cluster, lying);
  const CollectiveModel wire(cluster);
  for (const std::int64_t n : {8, 16, 32})
    for (const Collective c : kAll)
      for (const std::int64_t size : {1, 1 << 30})
        CHECK(model.time(c, span_of_first(cluster, n), Bytes{size}) ==
              wire.time(c, span_of_first(cluster, n), Bytes{size}));
}

TEST_CASE("Leaving the leaf costs the detour on top of what was measured") {
  const Cluster near = with_latencies(rail_cluster(8, 8, 8));
  const Cluster far = with_latencies(rail_cluster(8, 8, 4));
  // Well above the latency of the links alone, which would hide the detour.
  const Profile profile = collective_profile({1e-3, 0.0, 1.0, 0.0}, {1e-3, 0.0, 1.0, 0.0});
  const Bytes size{1 << 20};
  const auto cost = [&](const Cluster& c, Collective what) {
    return CollectiveModel(c, profile).time(what, span_of_first(c, 64), size).ps;
  };
  const std::int64_t detour = 2 * 300'000 + 2 * 70'000; // two switches and two cables more
  CHECK(cost(far, Collective::all_to_all) - cost(near, Collective::all_to_all) == detour);
  CHECK(cost(far, Collective::all_gather) - cost(near, Collective::all_gather) == 2 * detour); // a ring leaves twice
  CHECK(cost(far, Collective::all_reduce) - cost(near, Collective::all_reduce) == 4 * detour);
}

TEST_CASE("SMs and provenance come from the entry of the dispatcher") {
  const Cluster cluster = rail_cluster(2);
  Profile profile = collective_profile({}, {});
  for (ProfileEntry& e : profile.entries)
    if (e.op == "dispatch_deepep" && e.tier == "fabric") {
      e.params.emplace_back("sms", 24.0);
      e.provenance = Provenance::measured;
    }
  const CollectiveModel model(cluster, profile);
  CHECK(model.expert_sms(Dispatcher::deepep) == 24);
  CHECK(model.expert_sms(Dispatcher::alltoall) == 0);
  CHECK(model.expert_provenance(Dispatcher::deepep, span_of_first(cluster, 16)) == Provenance::measured);
  CHECK(model.expert_provenance(Dispatcher::deepep, span_of_first(cluster, 8)) == Provenance::published);
  CHECK(model.provenance(Collective::all_to_all, span_of_first(cluster, 8)) == Provenance::published);
  CHECK(CollectiveModel(cluster).provenance(Collective::all_to_all, span_of_first(cluster, 8)) == Provenance::derived);
}

TEST_CASE("The table has nccl-tests' columns") {
  const Cluster cluster = rail_cluster(2);
  const CollectiveModel wire(cluster);
  const auto sizes = doubling_sizes(Bytes{1 << 20}, Bytes{1 << 23});
  CHECK(sizes == std::vector<Bytes>{Bytes{1 << 20}, Bytes{1 << 21}, Bytes{1 << 22}, Bytes{1 << 23}});
  const auto rows = collective_table(wire, Collective::all_reduce, span_of_first(cluster, 16), sizes);
  REQUIRE(rows.size() == 4);
  CHECK(rows[3].size == Bytes{1 << 23});
  CHECK(rows[3].algbw.bytes_per_second * rows[3].time.seconds() == doctest::Approx(1 << 23));
  CHECK(rows[3].busbw.bytes_per_second == doctest::Approx(rows[3].algbw.bytes_per_second * 2.0 * 15.0 / 16.0));
  CHECK(rows[3].busbw.bytes_per_second == doctest::Approx(400e9)); // eight NICs of 50 GB/s
  Cluster ideal = cluster;
  ideal.fabric.kind = FabricKind::ideal;
  CHECK(std::isinf(collective_table(CollectiveModel(ideal), Collective::all_reduce, span_of_first(ideal, 16), sizes)[0]
                       .algbw.bytes_per_second));
}

TEST_CASE("Phases over smaller groups, by hand") {
  // 2 nodes of 8, S = 1.6 GB; 450 GB/s inside, 50 between.
  const Cluster two = rail_cluster(2);
  const CollectiveModel wire(two);
  const GroupSpan all = span_of_first(two, 16);
  const Bytes size{1'600'000'000};
  const auto seconds = [&](Collective c) {
    return collective_time(wire, c, all, size, Algorithm::hierarchical).seconds();
  };
  CHECK(seconds(Collective::all_to_all) == doctest::Approx(1.4e9 / 450e9 + 0.8e9 / 50e9));
  CHECK(seconds(Collective::all_gather) == doctest::Approx(1.4e9 / 450e9 + 0.1e9 / 50e9));
  CHECK(seconds(Collective::reduce_scatter) == seconds(Collective::all_gather));
  CHECK(seconds(Collective::all_reduce) == doctest::Approx(2.8e9 / 450e9 + 0.2e9 / 50e9));
  CHECK_THROWS_AS(collective_time(wire, Collective::send_recv, all, size, Algorithm::hierarchical), InputError);
  CHECK_THROWS_AS(collective_time(wire, Collective::all_gather, all, size, Algorithm::halo), InputError);
  const GroupSpan node = span_of_first(two, 8);
  CHECK(collective_time(wire, Collective::all_to_all, node, size, Algorithm::hierarchical) ==
        wire.time(Collective::all_to_all, node, size));
}

TEST_CASE("A dispatcher's table: rows of K copies, what the NIC carries after duplicates") {
  const Cluster eight = rail_cluster(8);
  const CollectiveModel model(eight);
  ExpertTraffic traffic = kDeepSeek;
  traffic.tokens_sent = 7; // ignored
  const auto rows = expert_table(model, eight, Dispatcher::deepep, false, span_of_first(eight, 64), traffic,
                                 std::vector<std::int64_t>{4096});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].cost.size.count == 4096 * 8 * 7392);                                   // 7168 (1 + 4/128)
  CHECK(rows[0].cost.busbw.bytes_per_second == doctest::Approx(50e9));                 // the NIC
  CHECK(rows[0].cost.time.seconds() == doctest::Approx(4096.0 * 3.5 * 7392.0 / 50e9)); // 3.5 remote nodes
}
