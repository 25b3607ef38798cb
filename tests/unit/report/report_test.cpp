// Text, JSON, CSV and timeline of the sample run.
#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "sim/report/csv.h"
#include "sim/report/format.h"
#include "sim/report/json.h"
#include "sim/report/text.h"
#include "sim/report/timeline.h"
#include "tests/support/report_sample.h"

using namespace tessella;
using tessella::testing::sample_result;
using tessella::testing::sample_scenario;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> cells;
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("Durations, counts and sizes read as people write them") {
  CHECK(format_duration({5'926'400'000'000}) == "5.926 s");
  CHECK(format_duration({812'400'000'000}) == "812.4 ms");
  CHECK(format_duration({37'500'000}) == "37.50 us");
  CHECK(format_duration({8'000}) == "8.000 ns");
  CHECK(format_duration({250}) == "250 ps");
  CHECK(format_duration({-1'500'000'000}) == "-1.500 ms");
  CHECK(format_duration(Duration::max()) == "9223372 s");
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(12288) == "12,288");
  CHECK(format_count(-1234567) == "-1,234,567");
  CHECK(format_gib({76504236032}) == "71.25");
  CHECK(to_seconds({5'926'400'000'000}) == 5.9264);
}

TEST_CASE("Wrapped text keeps to its width and loses no word") {
  CHECK(wrap("one two three", 9, 2) == "one two\n  three");
  CHECK(wrap("a_word_longer_than_the_line x", 5, 0) == "a_word_longer_than_the_line\nx");
  CHECK(wrap("", 8, 2).empty());
}

TEST_CASE("Ranks are named by their place in both grids") {
  // world 32 = tp 2 * cp 2 * dp 4 * pp 2; experts etp 1 * ep 8 * edp 2 on the same 16 ranks of a pipeline rank.
  const Parallelism p{.world_size = 32, .tp = 2, .cp = 2, .pp = 2, .vpp = 1, .ep = 8, .etp = 1};
  CHECK(coordinates(p, 0) == RankCoordinates{0, 0, 0, 0, 0});
  CHECK(coordinates(p, 13) == RankCoordinates{.tp = 1, .cp = 0, .dp = 3, .pp = 0, .ep = 5});
  CHECK(coordinates(p, 31) == RankCoordinates{.tp = 1, .cp = 1, .dp = 3, .pp = 1, .ep = 7});
  CHECK(rank_name(p, 13) == "[TP01-CP00-DP03-PP00-EP05]");
  CHECK(rank_name(sample_scenario().parallelism, 5) == "[TP00-DP01-PP01-EP01]");
}

TEST_CASE("JSON parses back to the same numbers, in the documented order") {
  const RunResult r = sample_result();
  const auto json = nlohmann::ordered_json::parse(run_json(sample_scenario(), r));
  std::vector<std::string> keys;
  for (const auto& item : json.items()) keys.push_back(item.key());
  CHECK(keys == std::vector<std::string>{"step_time_s",
                                         "step_time_p05_s",
                                         "step_time_p95_s",
                                         "step_time_ci95_s",
                                         "prediction",
                                         "steps",
                                         "warm_up_steps",
                                         "precise",
                                         "phases",
                                         "adaptation",
                                         "tokens_per_s_per_gpu",
                                         "tflops_per_gpu",
                                         "mfu",
                                         "hfu",
                                         "ranks",
                                         "ledger",
                                         "ep_hidden_fraction",
                                         "stage_imbalance",
                                         "capacity",
                                         "filled_bubble_s",
                                         "fill_overrun_s",
                                         "filler",
                                         "memory",
                                         "provenance",
                                         "plan",
                                         "seed",
                                         "inputs",
                                         "gpu",
                                         "bf16_peak_tflops",
                                         "replicas",
                                         "warnings",
                                         "step_times_s",
                                         "stages",
                                         "pipeline_ranks",
                                         "traffic",
                                         "expert_load",
                                         "sim"});
  CHECK(json["step_time_s"] == 0.015);
  CHECK(json["prediction"]["low_s"] == 0.012);
  CHECK(json["prediction"]["high_s"] == 0.02);
  CHECK(json["prediction"]["rows"] == 73);
  RunResult unjudged = r;
  unjudged.prediction.reset();
  CHECK(nlohmann::ordered_json::parse(run_json(sample_scenario(), unjudged))["prediction"].is_null());
  CHECK(json["tokens_per_s_per_gpu"].get<double>() == r.tokens_per_s_per_gpu); // to the last bit
  CHECK(json["ep_hidden_fraction"].get<double>() == 2.0 / 3.0);
  CHECK(json["ranks"] == 8);
  // By hand: 8 of 15 ms on every rank; warm-up 1 of 15 ms on half of the ranks.
  CHECK(json["ledger"]["compute"] == 8.0 / 15.0);
  CHECK(json["ledger"]["exposed"]["ep"] == 1.0 / 15.0);
  CHECK(json["ledger"]["bubble"]["warmup"] == 0.5 / 15.0);
  CHECK(json["memory"]["peak_bytes"] == std::int64_t{53} << 30);
  CHECK(json["memory"]["stage"] == 1);
  CHECK(json["provenance"] ==
        nlohmann::ordered_json{{"measured", 0.0}, {"published", 0.75}, {"derived", 0.25}, {"assumed", 0.0}});
  CHECK(json["plan"]["partition"][1]["loss"] == true);
  CHECK(json["inputs"]["models/tiny_moe.yaml"] == "11ee");
}

TEST_CASE("Ledger fractions sum to one") {
  const auto ledger = nlohmann::json::parse(run_json(sample_scenario(), sample_result()))["ledger"].flatten();
  double sum = 0.0;
  for (const auto& value : ledger) sum += value.get<double>();
  CHECK(ledger.size() == kNumShares);
  CHECK(sum == doctest::Approx(1.0).epsilon(1e-12));
}

TEST_CASE("Equal results give equal bytes; only the sim block may differ") {
  RunResult other = sample_result();
  other.sim = {.wall_s = 9.0, .events = 1, .rank_ops = 2, .peak_rss_bytes = 3};
  const std::string a = run_json(sample_scenario(), sample_result());
  const std::string b = run_json(sample_scenario(), other);
  CHECK(a == run_json(sample_scenario(), sample_result()));
  CHECK(a != b);
  CHECK(a.substr(0, a.find("\"sim\"")) == b.substr(0, b.find("\"sim\"")));
}

TEST_CASE("Hostile names stay data") {
  Scenario s = sample_scenario();
  s.name = "a\"b\\c\n\x1b[31m\xff";
  s.model.name = "caf\xc3\xa9\xc2\x9b"; // an accent may pass, a C1 control may not
  const auto json = nlohmann::json::parse(run_json(s, sample_result()));
  CHECK(json["plan"]["experiment"] == "a\"b\\c\n\x1b[31m\xef\xbf\xbd");
  const std::string text = headline_text(s, sample_result());
  CHECK_FALSE(contains(text, "\x1b"));
  CHECK(contains(text, "a\"b\\c\\x0a\\x1b[31m"));
  CHECK(contains(text, "caf\xc3\xa9\\xc2"));
}

TEST_CASE("Huge and missing numbers do not break a report") {
  Scenario s = sample_scenario();
  RunResult r = sample_result();
  r.step_times = {Duration::max()};
  r.step_time = r.step_time_p05 = r.step_time_p95 = Duration::max();
  r.tokens_per_s_per_gpu = 1e15;
  r.hfu = std::numeric_limits<double>::infinity();
  r.memory.ranks[1].weights = {std::int64_t{1} << 60};
  s.parallelism.world_size = std::int64_t{1} << 40;
  const auto json = nlohmann::json::parse(run_json(s, r));
  CHECK(json["step_time_s"] == 9223372036854775807.0 / 1e12);
  CHECK(json["hfu"].is_null());
  CHECK(json["ranks"] == std::int64_t{1} << 40);
  CHECK(contains(headline_text(s, r), "1,000,000,000,000,000"));
  CHECK(contains(memory_text(r.memory), "1073741824.00"));
  CHECK(contains(ledger_text(s, RunResult{}), "0.00")); // an empty ledger divides by nothing
}

TEST_CASE("Text keeps to 80 columns, and is plain unless colour is asked for") {
  const Scenario s = sample_scenario();
  const RunResult r = sample_result();
  for (const int width : {80, 120}) {
    const TextStyle style{.colour = false, .width = width};
    const std::string text = headline_text(s, r, style) + ledger_text(s, r, style) + memory_text(r.memory, style) +
                             warnings_text(s, r, style) + simulation_text(r) + timeline_text(r, {.width = width});
    CHECK_FALSE(contains(text, "\x1b"));
    for (const std::string& line : lines_of(text)) CHECK_MESSAGE(line.size() <= static_cast<std::size_t>(width), line);
  }
  CHECK(contains(headline_text(s, r, {.colour = true}), "\x1b[1m"));
  CHECK(contains(headline_text(s, r, {.width = 120}), "GBS"));
}

TEST_CASE("A plan that does not fit says so and names the smallest world") {
  RunResult r = sample_result();
  r.memory.fits = false;
  r.memory.smallest_world = 1024;
  CHECK(contains(headline_text(sample_scenario(), r), "DOES NOT FIT"));
  CHECK(contains(memory_text(r.memory), "1,024 GPUs"));
}

TEST_CASE("Several steps show their spread; an interrupted run says so") {
  Scenario s = sample_scenario();
  s.steps = 5;
  RunResult r = sample_result();
  r.step_times = {r.step_time, r.step_time};
  r.partial = true;
  const std::string text = headline_text(s, r);
  CHECK(contains(text, "+- "));
  CHECK(contains(text, "p05 15.00 ms"));
  CHECK(contains(text, "PARTIAL: interrupted after 2 of 5 steps"));
}

TEST_CASE("CSV rows sum to the step to the picosecond") {
  const std::vector<std::string> lines = lines_of(rank_ledger_csv(sample_scenario(), sample_result()));
  REQUIRE(lines.size() == 9);
  CHECK(cells_of(lines[0]).size() == 7 + kNumShares);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = cells_of(lines[i]);
    std::int64_t sum = 0;
    for (std::size_t c = 7; c < cells.size(); ++c) sum += std::stoll(cells[c]);
    CHECK(sum == std::stoll(cells[6]));
    CHECK(sum == 15'000'000'000);
  }
  CHECK(stage_csv(sample_scenario(), sample_result()) ==
        "stage,first_layer,num_layers,mtp_layers,embedding,loss,forward_ps,backward_ps\n"
        "0,0,2,0,1,0,1000000000,2000000000\n"
        "1,2,2,0,0,1,1000000000,2000000000\n");
}

TEST_CASE("The timeline shows 1F1B as drawn by hand") {
  // 67 columns minus the label "rank N " leave 60: four columns per millisecond.
  const std::vector<std::string> lines = lines_of(timeline_text(sample_result(), {.step = 0, .width = 67}));
  CHECK(lines[0] == "step 0: 15.00 ms, one column = 250.0 us");
  CHECK(lines[1] == "rank 0 F0--F1--........B0------F2--B1------F3--B2------....B3------");
  CHECK(lines[2] == "rank 4 ....F0--B0------F1--B1------F2--B2------F3--B3------........");
  // At one column per millisecond only the kinds remain.
  CHECK(lines_of(timeline_text(sample_result(), {.step = 0, .width = 22}))[1] == "rank 0 FF..B0FB1FB2.B3");
  CHECK(timeline_text(sample_result(), {.step = 7}) == "step 7: no rank was recorded\n");
}

TEST_CASE("Communication shows in the timeline where no compute covers it") {
  RunResult r;
  r.lanes = {"compute", "ep"};
  r.step_times = {{100}}; // ten columns of 10 ps
  r.events = {{0, 0, 0, 0, 1, 'F', "attention", {0}, {30}},
              {0, 0, 1, 0, 1, 'F', "dispatch", {30}, {50}}, // exposed
              {0, 0, 0, 0, 1, 'F', "experts", {50}, {60}},
              {0, 0, 1, 0, 1, 'F', "combine", {60}, {90}}, // hidden up to 80 behind the backward
              {0, 0, 0, 0, 0, 'B', "experts", {60}, {80}}};
  CHECK(lines_of(timeline_text(r, {.step = 0, .width = 17}))[1] == "rank 0 F1-~~-B0F.");
}

TEST_CASE("A timeline column shows what ran longest in it") {
  RunResult r;
  r.lanes = {"compute"};
  r.step_times = {{100}}; // ten columns of 10 ps
  r.events = {{0, 0, 0, 0, 1, 'F', "x", {0}, {6}},
              {0, 0, 0, 0, 2, 'B', "x", {6}, {10}},  // F 6 ps, B 4 ps
              {0, 0, 0, 0, 3, 'W', "x", {10}, {14}}, // idle 6 ps
              {0, 0, 0, 0, 12, 'I', "x", {20}, {50}},
              {0, 0, 0, 0, 4, 'F', "x", {99}, {100}}};
  CHECK(lines_of(timeline_text(r, {.step = 0, .width = 17}))[1] == "rank 0 F.I2-.....");
}
