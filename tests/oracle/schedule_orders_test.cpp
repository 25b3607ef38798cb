// The published orders: every generator against 22 worked schedules. Makespan, idle time and peaks are copied here;
// full orders and start times are read from ../shared/data where that is present.
#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "sim/schedule/replay.h"
#include "sim/schedule/table.h"
#include "sim/schedule/validate.h"

using namespace tessella;

namespace {

using Row = std::vector<std::int64_t>;

struct Case {
  const char* id;
  const char* schedule;
  std::int32_t pp, vpp, m;
  std::optional<std::int64_t> group_size;
  StageTimes times;
  std::optional<std::int64_t> pair;
  std::int64_t makespan, idle;
  Row span_idle, peak_w, peak_i;
};

constexpr StageTimes kF1B2{1, 2, 1, 1};
constexpr StageTimes kF1B1{1, 1, 1, 1}; // F = B = 1, and F = I = W = 1

const std::vector<Case>& cases() {
  static const std::vector<Case> table = {
      {"gpipe_p4_m8", "gpipe", 4, 1, 8, {}, kF1B2, {}, 33, 9, {9, 6, 3, 0}, {8, 8, 8, 8}, {8, 8, 8, 8}},
      {"1f1b_p4_m8", "1f1b", 4, 1, 8, {}, kF1B2, {}, 33, 9, {9, 6, 3, 0}, {4, 3, 2, 1}, {4, 3, 2, 1}},
      {"vpp2_p4_m8", "interleaved_1f1b", 4, 2, 8, {}, kF1B2, {}, 57, 9, {9, 6, 3, 0}, {11, 9, 7, 5}, {11, 9, 7, 5}},
      {"vpp2_p4_m8_N8",
       "interleaved_1f1b",
       4,
       2,
       8,
       8,
       kF1B2,
       {},
       57,
       9,
       {9, 6, 3, 0},
       {15, 13, 11, 9},
       {15, 13, 11, 9}},
      {"vpp2_p4_m8_overlap",
       "combined_1f1b",
       4,
       2,
       8,
       {},
       kF1B2,
       3,
       57,
       9,
       {9, 6, 3, 0},
       {12, 10, 8, 6},
       {12, 10, 8, 6}},
      {"vpp2_p2_m5_N3", "interleaved_1f1b", 2, 2, 5, 3, kF1B2, {}, 33, 3, {3, 0}, {6, 4}, {6, 4}},
      {"loopedbfs_p4_v2_m8",
       "looped_bfs",
       4,
       2,
       8,
       {},
       kF1B2,
       {},
       57,
       9,
       {9, 6, 3, 0},
       {16, 16, 16, 16},
       {16, 16, 16, 16}},
      {"zbh1_p4_m8", "zb_h1", 4, 1, 8, {}, kF1B1, {}, 27, 3, {3, 2, 1, 0}, {4, 4, 4, 4}, {4, 3, 2, 1}},
      {"zbh2_p4_m8", "zb_h2", 4, 1, 8, {}, kF1B1, {}, 27, 3, {0, 0, 0, 0}, {7, 7, 7, 7}, {7, 5, 3, 1}},
      {"izb_p2_v2_m8", "interleaved_zb", 2, 2, 8, {}, kF1B1, {}, 49, 1, {1, 0}, {4, 4}, {4, 3}},
      {"zbv_p4_m8", "zb_v", 4, 2, 8, {}, kF1B1, {}, 51, 3, {0, 0, 0, 0}, {8, 8, 8, 8}, {8, 8, 8, 8}},
      {"dualpipev_p4_m8", "dualpipe_v", 4, 2, 8, {}, kF1B2, 3, 54, 6, {6, 5, 4, 3}, {9, 9, 9, 9}, {9, 9, 9, 9}},
      {"dualpipev_p4_m10", "dualpipe_v", 4, 2, 10, {}, kF1B2, 3, 66, 6, {6, 5, 4, 3}, {9, 9, 9, 9}, {9, 9, 9, 9}},
      {"dualpipe_p4_m8", "dualpipe", 4, 1, 8, {}, kF1B2, 3, 26, 2, {2, 1, 1, 2}, {5, 5, 5, 5}, {5, 5, 5, 5}},
      {"dualpipe_p8_m20",
       "dualpipe",
       8,
       1,
       20,
       {},
       kF1B2,
       3,
       66,
       6,
       {6, 5, 4, 3, 3, 4, 5, 6},
       {9, 9, 9, 9, 9, 9, 9, 9},
       {9, 9, 9, 9, 9, 9, 9, 9}},
      {"chimera_p4_m4", "chimera", 4, 1, 4, {}, kF1B1, {}, 10, 2, {2, 0, 0, 2}, {3, 4, 4, 3}, {3, 4, 4, 3}},
      {"chimera_p4_m8", "chimera", 4, 1, 8, {}, kF1B1, {}, 18, 2, {2, 0, 0, 2}, {3, 4, 4, 3}, {3, 4, 4, 3}},
      {"1f1b_p2_m4", "1f1b", 2, 1, 4, {}, kF1B2, {}, 15, 3, {3, 0}, {2, 1}, {2, 1}},
      {"1f1b_p4_m2", "1f1b", 4, 1, 2, {}, kF1B2, {}, 15, 9, {9, 6, 3, 0}, {2, 2, 2, 1}, {2, 2, 2, 1}},
  };
  return table;
}

// Found by a search in the source: another construction may order them otherwise but must meet makespan and peak.
const std::vector<Case>& searched_cases() {
  static const std::vector<Case> table = {
      {"v_half_p4_m8", "v_half", 4, 2, 8, {}, kF1B1, {}, 53, 5, {5, 3, 3, 2}, {6, 6, 6, 6}, {6, 6, 6, 6}},
      {"v_min_p4_m8", "v_min", 4, 2, 8, {}, kF1B1, {}, 59, 11, {11, 9, 7, 6}, {4, 4, 4, 4}, {4, 4, 4, 4}},
      {"zbv_auto_p4_m8", "zb_v", 4, 2, 8, {}, kF1B1, {}, 51, 3, {0, 0, 0, 0}, {8, 8, 8, 8}, {8, 8, 8, 8}},
  };
  return table;
}

Schedule generate(const Case& c) {
  ScheduleSpec spec;
  spec.name = c.schedule;
  spec.microbatch_group_size = c.group_size;
  return make_schedule(spec, c.pp, c.vpp, c.m);
}

ReplayTimes times_of(const Case& c) {
  ReplayTimes times{{c.times}, {}, 0, 0};
  if (c.pair) times.pairs = {*c.pair};
  return times;
}

void check_figures(const Case& c, const Replay& got) {
  CHECK(got.makespan == c.makespan);
  for (std::size_t r = 0; r < got.ranks.size(); ++r) {
    CAPTURE(r);
    CHECK(got.idle(r) == c.idle);
    CHECK(got.ranks[r].idle_inside_span() == c.span_idle[r]);
    CHECK(got.ranks[r].peak_freed_at_w == c.peak_w[r]);
    CHECK(got.ranks[r].peak_freed_at_i == c.peak_i[r]);
  }
}

// The file numbers the stages of a second direction p..2p-1; ours are the same layers, hence the same stages.
Action renamed(Action a, bool two_directions, std::int32_t pp) {
  if (two_directions) a.stage.value %= pp;
  return a;
}

std::vector<Slot> parse_row(const std::string& row, bool two_directions, std::int32_t pp) {
  std::vector<Slot> slots;
  std::istringstream in(row);
  for (std::string word; in >> word;) {
    auto slot = parse_slot(word);
    REQUIRE_MESSAGE(slot, word);
    slot->first = renamed(slot->first, two_directions, pp);
    if (slot->second) slot->second = renamed(*slot->second, two_directions, pp);
    slots.push_back(*slot);
  }
  return slots;
}

} // namespace

TEST_CASE("Every worked schedule has its published makespan, idle time and peaks") {
  for (const Case& c : cases()) {
    CAPTURE(c.id);
    const Schedule schedule = generate(c);
    const auto problem = validate(schedule);
    REQUIRE_MESSAGE(!problem, problem->message);
    check_figures(c, replay(schedule, times_of(c)));
  }
}

TEST_CASE("Searched schedules are matched in makespan and peak") {
  for (const Case& c : searched_cases()) {
    CAPTURE(c.id);
    const Schedule schedule = generate(c);
    const auto problem = validate(schedule);
    REQUIRE_MESSAGE(!problem, problem->message);
    const Replay got = replay(schedule, times_of(c));
    CHECK(got.makespan == c.makespan);
    for (const RankReplay& rank : got.ranks) CHECK(rank.peak_freed_at_w <= c.peak_w[0]);
  }
}

namespace {

constexpr const char* kOrders = "../shared/data/schedules_oracle.yaml";

void check_order(const Case& c, const YAML::Node& want, const Schedule& schedule) {
  const Replay got = replay(schedule, times_of(c));
  const bool two_directions = want["two_directions"].as<bool>();
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
    CAPTURE(r);
    CHECK(schedule.ranks[r] == parse_row(want["ranks"][r].as<std::string>(), two_directions, c.pp));
    CHECK(got.ranks[r].start == want["start"][r].as<Row>());
  }
}

} // namespace

TEST_CASE("Every worked schedule has its published order and start times") {
  std::ifstream file(kOrders);
  if (!file) {
    MESSAGE("skipped: no " << kOrders);
    return;
  }
  std::map<std::string, YAML::Node> oracle;
  for (const YAML::Node& node : YAML::Load(file)["cases"]) oracle[node["id"].as<std::string>()] = node;
  CHECK(oracle.size() == cases().size() + searched_cases().size());
  for (const Case& c : cases()) {
    CAPTURE(c.id);
    check_order(c, oracle.at(c.id), generate(c));
  }
  for (const Case& c : searched_cases()) {
    CAPTURE(c.id);
    Schedule schedule = generate(c);
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r)
      schedule.ranks[r] = parse_row(oracle.at(c.id)["ranks"][r].as<std::string>(), false, c.pp);
    REQUIRE(!validate(schedule));
    check_order(c, oracle.at(c.id), schedule);
    check_figures(c, replay(schedule, times_of(c)));
  }
}
