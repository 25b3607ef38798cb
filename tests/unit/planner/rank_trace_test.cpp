// A rank's trace: what it sends is what the step's traffic counts, its order is the run's, Chakra carries it whole.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "sim/config/import_chakra.h"
#include "sim/planner/rank_trace.h"
#include "sim/planner/simulate.h"
#include "sim/planner/step_traffic.h"
#include "sim/report/chakra.h"
#include "tests/support/recipe.h"

using namespace tessella;

namespace {

struct Traced {
  Scenario scenario;
  RunResult result;
};

Traced traced(const std::vector<std::string>& overrides) {
  Traced t{testing::recipe({"batch.gbs=256"}, overrides), {}};
  RunOptions options;
  options.trace = trace_of_column(t.scenario, 5);
  t.result = simulate(t.scenario, options);
  return t;
}

// What the input `size` of a collective in a group of n makes a rank send.
double sent(const TraceNode& n, double ranks) {
  const auto size = static_cast<double>(n.size.count);
  if (n.collective == "ALL_GATHER") return size * (ranks - 1.0);
  return size * (ranks - 1.0) / ranks * (n.collective == "ALL_REDUCE" ? 2.0 : 1.0);
}

const std::vector<std::vector<std::string>> kScenarios = {
    {},
    {"schedule={name: interleaved_1f1b, overlap_moe_expert_parallel_comm: true, delay_wgrad_compute: true}"},
    {"parallelism.vpp=1", "schedule.name=zb_h1"},
    {"parallelism.vpp=2", "schedule.name=dualpipe_v"},
    {"optimizer.overlap_param_gather=false", "parallelism.expert_model_parallel_size=8"},
};

} // namespace

TEST_CASE("Over the pipeline, collectives send what the step's traffic counts") {
  for (const auto& overrides : kScenarios) {
    const Traced t = traced(overrides);
    CAPTURE(t.scenario.schedule.name);
    std::map<std::string, double> bytes;
    for (const std::int32_t rank : trace_of_column(t.scenario, 5).ranks)
      for (const TraceNode& n : rank_trace(t.scenario, t.result, rank).nodes)
        if (n.group == "ep" || n.group == "tp")
          bytes[n.group] +=
              sent(n, static_cast<double>(n.group == "ep" ? t.scenario.parallelism.ep : t.scenario.parallelism.tp));
    for (const char* lane : {"ep", "tp"}) {
      double expected = 0.0;
      for (const TrafficRow& row : step_traffic(t.scenario))
        if (row.lane == lane) expected += row.bytes * static_cast<double>(t.scenario.parallelism.pp);
      CHECK(expected > 0.0);
      CHECK(bytes[lane] == doctest::Approx(expected).epsilon(1e-6));
    }
  }
}

TEST_CASE("Nodes wait for nodes that have ended; messages have both ends") {
  for (const auto& overrides : kScenarios) {
    const Traced t = traced(overrides);
    CAPTURE(t.scenario.schedule.name);
    std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, int> messages; // from, to, tag
    for (const std::int32_t rank : trace_of_column(t.scenario, 5).ranks) {
      const RankTrace trace = rank_trace(t.scenario, t.result, rank);
      CHECK(trace.nodes.size() > 100);
      std::size_t free = 0; // of all dependencies
      for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
        const TraceNode& n = trace.nodes[i];
        for (const std::size_t d : n.after) {
          REQUIRE(d < i);
          CHECK(trace.nodes[d].begin + trace.nodes[d].duration <= n.begin);
        }
        if (n.kind == TraceNode::Kind::send) messages[{rank, n.peer, n.tag}] += 1;
        if (n.kind == TraceNode::Kind::receive)
          messages[{n.peer, rank, n.tag}] += 2;
        else if (n.after.empty())
          ++free;
      }
      CHECK(free <= 1); // the first op of the first stage
    }
    CHECK(messages.size() > 10);
    CHECK(std::all_of(messages.begin(), messages.end(), [](const auto& m) { return m.second == 3; }));
  }
}

TEST_CASE("Data parallelism reduces and gathers what the rank holds, whatever hides it") {
  for (const auto& overrides : {kScenarios[0], kScenarios[4]}) {
    const Traced t = traced(overrides);
    double reduced = 0.0;  // parameters, from fp32 gradients
    double gathered = 0.0; // from this rank's bf16 shard
    for (const TraceNode& n : rank_trace(t.scenario, t.result, 5).nodes) {
      if (n.group != "dp") continue;
      const auto size = static_cast<double>(n.size.count);
      if (n.collective == "REDUCE_SCATTER") reduced += size / 4.0;
      if (n.collective == "ALL_GATHER") gathered += size / 2.0 * static_cast<double>(t.scenario.parallelism.dp());
    }
    CHECK(reduced > 1e8);
    CHECK(gathered == doctest::Approx(reduced).epsilon(1e-6)); // to the rounding of shards
  }
}

TEST_CASE("Chakra's form reads back as the same communication") {
  const Traced t = traced({});
  const RankTrace trace = rank_trace(t.scenario, t.result, 37);
  std::istringstream in(chakra_et(trace, "tessella"));
  const ChakraTrace read = read_chakra("37.et", in);
  CHECK(read.version == "0.0.4");
  CHECK(read.nodes == static_cast<std::int64_t>(trace.nodes.size()));
  CHECK(read.without_size == 0);
  CHECK(read.ledger == ledger_of(trace));
  CHECK(read.ledger.size() >= 6);
  CHECK(read.compute_nodes == std::count_if(trace.nodes.begin(), trace.nodes.end(),
                                            [](const TraceNode& n) { return n.kind == TraceNode::Kind::compute; }));
}
