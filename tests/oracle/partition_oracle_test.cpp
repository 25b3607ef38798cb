// Contiguous min-max partitions with known optima: own copies of a few, and the whole file where it is present.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/planner/partition/partition_dp.h"

using namespace tessella;
using nlohmann::json;

namespace {

struct Case {
  std::vector<std::int64_t> times;
  std::size_t stages = 1;
  std::vector<std::int64_t> memory; // empty: no caps
  std::vector<std::int64_t> cap;
  std::vector<std::int64_t> in_flight;
  std::optional<std::int64_t> optimal;
};

// A cap bounds in_flight * memory. The interval solver is given the same rule in other words.
void check(const Case& c) {
  std::vector<ChainLayer> layers;
  for (std::size_t i = 0; i < c.times.size(); ++i)
    layers.push_back({Duration{c.times[i]}, {}, Bytes{c.memory.empty() ? 0 : c.memory[i]}});
  std::vector<ChainStage> stages(c.stages);
  for (std::size_t s = 0; s < c.cap.size(); ++s) stages[s] = {{}, {}, c.in_flight[s], Bytes{c.cap[s]}};
  const auto chain = min_max_chain(layers, stages);
  const auto intervals =
      min_max_intervals(static_cast<std::int32_t>(layers.size()), static_cast<std::int32_t>(c.stages),
                        [&](std::int32_t s, std::int32_t i, std::int32_t j) -> std::optional<Duration> {
                          Duration time;
                          std::int64_t memory = 0;
                          for (auto l = static_cast<std::size_t>(i); l < static_cast<std::size_t>(j); ++l) {
                            time += layers[l].time;
                            memory += layers[l].activation.count;
                          }
                          const ChainStage& stage = stages[static_cast<std::size_t>(s)];
                          if (stage.cap && stage.in_flight * memory > stage.cap->count) return std::nullopt;
                          return time;
                        });
  REQUIRE(chain.has_value() == c.optimal.has_value());
  REQUIRE(intervals.has_value() == c.optimal.has_value());
  if (!chain) return;
  CHECK(chain->bottleneck == Duration{*c.optimal});
  CHECK(intervals->bottleneck == Duration{*c.optimal});
  // The cut must attain it.
  std::size_t from = 0;
  std::int64_t worst = 0;
  for (const std::int32_t end : chain->ends) {
    std::int64_t sum = 0;
    for (; from < static_cast<std::size_t>(end); ++from) sum += c.times[from];
    worst = std::max(worst, sum);
  }
  CHECK(from == c.times.size());
  CHECK(worst == *c.optimal);
}

} // namespace

TEST_CASE("Own copies: no caps, caps that bind, caps that exclude everything") {
  check({{15, 15, 17, 19, 7, 6, 17, 16, 20, 6}, 5, {}, {}, {}, 33});
  check({{20, 1, 15, 11, 15, 19}, 2, {4, 9, 4, 5, 8, 1}, {43, 43}, {2, 1}, 45});
  check({{9, 11, 3, 10}, 2, {6, 1, 7, 2}, {11, 11}, {2, 1}, std::nullopt});
}

TEST_CASE("All 40 reference partitions") {
  std::ifstream file("../shared/data/partition_oracle.json");
  if (!file) {
    MESSAGE("skipped: ../shared/data/partition_oracle.json is absent");
    return;
  }
  const json cases = json::parse(file).at("cases");
  CHECK(cases.size() == 40);
  for (const json& y : cases) {
    Case c;
    c.times = y.at("t").get<std::vector<std::int64_t>>();
    c.stages = y.at("k").get<std::size_t>();
    if (!y.at("mem").is_null()) {
      c.memory = y.at("mem").get<std::vector<std::int64_t>>();
      c.cap = y.at("cap").get<std::vector<std::int64_t>>();
      c.in_flight = y.at("inflight").get<std::vector<std::int64_t>>();
    }
    if (!y.at("optimal").is_null()) c.optimal = y.at("optimal").get<std::int64_t>();
    CAPTURE(y.dump());
    check(c);
  }
}
