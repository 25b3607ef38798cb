// Questions people asked about schedules, with the numbers they got or should have got. Inputs and expected values are
// copied from the case files 04, 08, 20, 21 and 22.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/schedule/replay.h"
#include "sim/schedule/table.h"
#include "sim/schedule/validate.h"

using namespace tessella;

namespace {

Schedule make(const char* name, std::int32_t pp, std::int32_t vpp, std::int32_t m) {
  ScheduleSpec spec;
  spec.name = name;
  return make_schedule(spec, pp, vpp, m);
}

// F = 1, B = 2, I = W = 1 for a whole rank, in units of 1/12 so that two, three or four chunks divide it.
constexpr std::int64_t kUnit = 12;

ReplayTimes chunk_times(std::int64_t chunks, double pair = 0.0) {
  ReplayTimes times{{{kUnit / chunks, 2 * kUnit / chunks, kUnit / chunks, kUnit / chunks}}, {}, 0, 0};
  if (pair > 0.0) times.pairs = {std::llround(pair * kUnit)};
  return times;
}

double makespan(const char* name, std::int32_t pp, std::int32_t chunks, std::int32_t m, double pair = 0.0) {
  return static_cast<double>(replay(make(name, pp, chunks, m), chunk_times(chunks, pair)).makespan) / kUnit;
}

std::int64_t one_f_one_b_makespan(const std::vector<StageTimes>& stages, std::int32_t m) {
  return replay(make("1f1b", static_cast<std::int32_t>(stages.size()), 1, m), {stages, {}, 0, 0}).makespan;
}

std::vector<StageTimes> layers(const std::vector<std::int64_t>& per_stage, std::int64_t head_in_layers) {
  std::vector<StageTimes> stages;
  for (const std::int64_t n : per_stage) stages.push_back({n, 2 * n, 0, 0});
  stages.back().f += head_in_layers;
  stages.back().b += 2 * head_in_layers;
  return stages;
}

} // namespace

TEST_CASE("Case 04: which split is best under 1F1B when the head costs two layers") {
  CHECK(one_f_one_b_makespan(layers({16, 16, 16, 13}, 2), 32) == 1674);
  CHECK(one_f_one_b_makespan(layers({16, 15, 15, 15}, 2), 32) == 1770);
  CHECK(one_f_one_b_makespan(layers({15, 15, 15, 16}, 2), 32) == 1863);
  CHECK(one_f_one_b_makespan(layers({16, 16, 16, 13}, 0), 32) == 1662);
  CHECK(one_f_one_b_makespan(layers({15, 15, 15, 16}, 0), 32) == 1671);
}

TEST_CASE("Case 08: fewer micro-batches than stages is legal and slow, zero is not legal") {
  struct Row {
    std::int32_t m;
    std::int64_t makespan;
    double bubble;
  };
  for (const Row& row : {Row{1, 12, 0.75}, Row{2, 15, 0.6}, Row{4, 21, 0.428571}, Row{16, 57, 0.157895}}) {
    CAPTURE(row.m);
    const Replay got = replay(make("1f1b", 4, 1, row.m), {{{1, 2, 0, 0}}, {}, 0, 0});
    CHECK(got.makespan == row.makespan);
    CHECK(got.bubble_fraction() == doctest::Approx(row.bubble).epsilon(1e-6));
  }
  const auto none = check_schedule_spec(ScheduleSpec{}, 4, 1, 0);
  REQUIRE(none);
  CHECK(none->parameter == "num_micro_batches");
  CHECK(none->rule == "1f1b: num_micro_batches is 0; it must be at least 1");
  CHECK(none->nearest == 1);
}

TEST_CASE("Case 20: bubble fractions, slots and stragglers") {
  const ReplayTimes times{{{1, 2, 0, 0}}, {}, 0, 0};
  CHECK(replay(make("gpipe", 8, 1, 8), times).bubble_fraction() == doctest::Approx(0.4667).epsilon(0.001));
  CHECK(replay(make("gpipe", 8, 1, 16), times).bubble_fraction() == doctest::Approx(0.3043).epsilon(0.001));
  CHECK(replay(make("gpipe", 4, 1, 8), times).bubble_fraction() == doctest::Approx(0.2727).epsilon(0.001));
  const Replay saving = replay(make("1f1b", 8, 1, 8), times);
  CHECK(saving.bubble_fraction() == doctest::Approx(0.4667).epsilon(0.001));
  for (std::size_t r = 0; r < 8; ++r) CHECK(saving.ranks[r].peak_freed_at_w == static_cast<std::int32_t>(8 - r));
  CHECK(replay(make("1f1b", 4, 1, 8), {{{1, 1, 0, 0}}, {}, 0, 0}).makespan == 22);

  const auto ratio_when_slow = [](std::size_t stage) {
    std::vector<StageTimes> stages(8, {10, 20, 0, 0});
    const double even = static_cast<double>(one_f_one_b_makespan(stages, 32));
    stages[stage] = {12, 24, 0, 0};
    return static_cast<double>(one_f_one_b_makespan(stages, 32)) / even;
  };
  CHECK(ratio_when_slow(0) == doctest::Approx(1.1282).epsilon(0.001));
  CHECK(ratio_when_slow(3) == doctest::Approx(1.1436).epsilon(0.001));
  CHECK(ratio_when_slow(7) == doctest::Approx(1.1641).epsilon(0.001));
}

TEST_CASE("Case 21: makespans of interleaved, zero-bubble and DualPipe at equal devices") {
  CHECK(makespan("1f1b", 4, 1, 8) == 33.0);
  CHECK(makespan("interleaved", 4, 2, 8) == 28.5);
  CHECK(makespan("interleaved", 8, 4, 16) == 53.25);
  CHECK(makespan("interleaved", 4, 2, 4) == 16.5);
  CHECK(makespan("zb1p", 4, 1, 8) == 27.0);
  CHECK(makespan("dualpipe", 8, 1, 20, 3.0) == 66.0);
  CHECK(makespan("dualpipe", 8, 1, 20, 2.5) == 59.0);
  CHECK(makespan("dualpipe", 8, 1, 20, 2.0) == 52.0);
  const Schedule dual = make("dualpipe", 8, 1, 20);
  for (const RankReplay& rank : replay(dual, chunk_times(1, 3.0)).ranks) CHECK(rank.peak_freed_at_w == 9);
  for (const auto& holders : dual.stage_ranks) CHECK(holders.size() == 2); // parameters twice
}

TEST_CASE("Case 21: when interleaving beats DualPipe, 16 ranks and 64 micro-batches") {
  const double ideal = 64 * 3.0;
  const auto bubble = [&](const char* name, std::int32_t chunks, double pair = 0.0) {
    return makespan(name, 16, chunks, 64, pair) / ideal - 1.0;
  };
  const double v2 = bubble("interleaved", 2);
  const double v3 = bubble("interleaved", 3);
  const double v4 = bubble("interleaved", 4);
  const double dual = bubble("dualpipe", 1, 3.0);
  CHECK(v2 == doctest::Approx(0.1172).epsilon(0.001));
  CHECK(v3 == doctest::Approx(0.0781).epsilon(0.001));
  CHECK(v4 == doctest::Approx(0.0586).epsilon(0.001));
  CHECK(dual == doctest::Approx(0.0729).epsilon(0.001));
  CHECK((v4 < dual && dual < v3 && v3 < v2));
}

TEST_CASE("Case 21: forwards before the first backward in Megatron's interleaved schedule") {
  const Schedule schedule = make("interleaved", 4, 2, 8);
  const std::int32_t warmup[] = {10, 8, 6, 4};
  for (std::size_t r = 0; r < 4; ++r) {
    std::int32_t forwards = 0;
    while (schedule.ranks[r][static_cast<std::size_t>(forwards)].first.kind == ActionKind::F) ++forwards;
    CHECK(forwards == warmup[r] + 1); // the steady phase begins with a forward
  }
}

namespace {

// The first 17 steps in torch's step grid; "." is an idle cell.
const char* const kFlexSteps[4][17] = {
    {"0F0", "0F1", "0F2", "0F3", "0F4", "4F0", "4F1", "4F2", "4F3", "4F4", "0F5", ".", ".", ".", "0F6", "4B0", "0F7"},
    {".", "1F0", "1F1", "1F2", "1F3", "1F4", "5F0", "5F1", "5F2", "5F3", ".", ".", "5F4", "5B0", "1F5", "5B1", "1F6"},
    {".", ".", "2F0", "2F1", "2F2", "2F3", "2F4", "6F0", "6F1", ".", "6F2", "6B0", "6F3", "6B1", "6F4", "6B2", "2F5"},
    {".", ".", ".", "3F0", "3F1", "3F2", "3F3", "3F4", "7F0", "7B0", "7F1", "7B1", "7F2", "7B2", "7F3", "7B3", "7F4"}};

} // namespace

TEST_CASE("Case 22: torch's order for 4 ranks, 2 stages each, 10 micro-batches") {
  const Schedule schedule = make("interleaved_1f1b_torch", 4, 2, 10);
  CHECK(!validate(schedule));
  for (std::size_t r = 0; r < 4; ++r) {
    std::size_t at = 0;
    for (const std::string step : kFlexSteps[r])
      if (step != ".") CHECK(to_text(schedule.ranks[r][at++]) == step);
  }
}

TEST_CASE("Case 22: torch takes m when max(1, m div p) divides it") {
  ScheduleSpec spec;
  spec.name = "interleaved_1f1b_torch";
  for (const std::int32_t m : {3, 4, 7, 10, 12}) {
    CAPTURE(m);
    CHECK(!check_schedule_spec(spec, 4, 2, m));
    CHECK(!validate(make_schedule(spec, 4, 2, m)));
  }
  CHECK(check_schedule_spec(spec, 4, 2, 9)->nearest == 10);
  CHECK(check_schedule_spec(spec, 4, 2, 11)->nearest == 12);
  CHECK(
      check_schedule_spec(spec, 4, 2, 9)->rule ==
      "interleaved_1f1b_torch: num_micro_batches mod rounds is 9 mod 2 = 1; it must be 0, where rounds = max(1, 9 div "
      "pipeline_model_parallel_size = 4)");
}
