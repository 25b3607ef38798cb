// The detail of `run --json`: exact ledgers of ranks, actions and ops of the traced ranks, bounded.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/report/detail.h"
#include "sim/report/json.h"
#include "tests/support/report_sample.h"

using namespace tessella;
using namespace tessella::testing;
using nlohmann::json;

namespace {

constexpr std::int64_t kUs = 1'000'000; // picoseconds

// An op of rank 0 in microseconds.
TraceEvent op(char kind, std::int32_t micro_batch, std::int32_t lane, std::int64_t begin, std::int64_t end,
              const char* name = "x") {
  return {0, 0, lane, 0, micro_batch, kind, name, Time{begin * kUs}, Time{end * kUs}};
}

json timeline_of(std::vector<TraceEvent> events) {
  RunResult r = sample_result();
  r.events = std::move(events);
  return json::parse(detail_json(sample_scenario(), r))["timeline"];
}

} // namespace

TEST_CASE("Every rank's ledger in picoseconds sums to the step") {
  const RunResult r = sample_result();
  const json detail = json::parse(detail_json(sample_scenario(), r));
  REQUIRE(detail["rank_ledger_ps"].size() == r.rank_rows.size());
  CHECK(detail["shares"].size() == kNumShares);
  for (const json& row : detail["rank_ledger_ps"]) {
    std::int64_t sum = 0;
    for (const json& share : row) sum += share.get<std::int64_t>();
    CHECK(sum == r.step_times[0].ps);
  }
  CHECK(detail["shares"][2] == "exposed_ep");
  CHECK(detail["rank_ledger_ps"][5][2] == 1'000'000'000);
}

TEST_CASE("An action spans its ops, also when another shares the GPU") {
  const json t = timeline_of({op('F', 1, 0, 0, 10), op('B', 0, 1, 4, 16), op('F', 1, 0, 20, 30)});
  const json& rank = t["ranks"][0];
  CHECK(rank["name"] == "[TP00-DP00-PP00-EP00]");
  CHECK(rank["actions"]["kind"] == "FB");
  CHECK(rank["actions"]["begin_ns"] == json({0, 4000}));
  CHECK(rank["actions"]["end_ns"] == json({30000, 16000}));
  CHECK(rank["actions"]["micro_batch"] == json({1, 0}));
  CHECK(rank["ops"]["action"] == json({0, 1, 0}));
  CHECK(rank["ops"]["lane"] == json({0, 1, 0}));
}

TEST_CASE("Pieces of a weight gradient with something else between them are two actions") {
  const json t = timeline_of({op('W', 0, 0, 0, 5), op('W', 0, 0, 5, 8), op('W', 0, 0, 9, 10)});
  CHECK(t["ranks"][0]["actions"]["begin_ns"] == json({0, 9000}));
  CHECK(t["ranks"][0]["actions"]["end_ns"] == json({8000, 10000}));
}

TEST_CASE("Only the first traced step is shown") {
  std::vector<TraceEvent> events = {op('F', 0, 0, 0, 1), op('F', 0, 0, 0, 2)};
  events[0].step = 3;
  events[1].step = 2;
  const json t = timeline_of(events);
  CHECK(t["ranks"][0]["actions"]["end_ns"] == json({2000}));
}

TEST_CASE("More ops than the bound: those in the middle stay, every action stays") {
  std::vector<TraceEvent> events;
  const auto many = static_cast<std::int32_t>(kMaxTimelineOps) + 1000;
  for (std::int32_t i = 0; i < many; ++i) events.push_back(op('F', i, 0, i, i + 1));
  const json t = timeline_of(events);
  CHECK(t["ranks"][0]["actions"]["begin_ns"].size() == static_cast<std::size_t>(many));
  const json& begins = t["ranks"][0]["ops"]["begin_ns"];
  CHECK(begins.size() == kMaxTimelineOps);
  CHECK(begins.front() == 500 * 1000);
  CHECK(begins.front() >= t["ops_from_ns"]);
  CHECK(begins.back() < t["ops_to_ns"]);
}

TEST_CASE("Detail is part of the result only when asked for") {
  CHECK_FALSE(json::parse(run_json(sample_scenario(), sample_result())).contains("detail"));
  const json with = json::parse(run_json(sample_scenario(), sample_result(), {.detail = true}));
  CHECK(with["detail"]["timeline"]["ranks"].size() == 2);
}

TEST_CASE("A run without a traced rank has an empty timeline") {
  CHECK(timeline_of({})["ranks"].empty());
}
