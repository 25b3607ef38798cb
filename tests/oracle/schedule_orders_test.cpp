// The published orders: every generator against 22 worked schedules (order, start times, makespan, idle, peaks) and
// against 899 replayed shapes. Figures of the 22 cases are copied here; the full orders and the sweep are read from
// ../shared/data where that is present.
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
constexpr const char* kSweep = "../shared/data/schedules_sweep.csv";

void check_order(const Case& c, const YAML::Node& want, const Schedule& schedule) {
  const Replay got = replay(schedule, times_of(c));
  const bool two_directions = want["two_directions"].as<bool>();
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
    CAPTURE(r);
    CHECK(schedule.ranks[r] == parse_row(want["ranks"][r].as<std::string>(), two_directions, c.pp));
    CHECK(got.ranks[r].start == want["start"][r].as<Row>());
  }
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

std::int64_t number(const std::string& text) {
  return text.empty() ? 0 : std::stoll(text);
}

// One replayed shape: schedule,p,m,v,N,F,B,I,W,OV and makespan,busy,idle,peaks.
void check_sweep_row(const std::vector<std::string>& row) {
  static const std::map<std::string, std::string> names = {{"interleaved", "interleaved_1f1b"},
                                                           {"interleaved_ep_overlap", "combined_1f1b"},
                                                           {"loopedbfs", "looped_bfs"},
                                                           {"zbh1", "zb_h1"},
                                                           {"zbh2", "zb_h2"},
                                                           {"zbv", "zb_v"},
                                                           {"dualpipev", "dualpipe_v"}};
  ScheduleSpec spec;
  const auto renamed_to = names.find(row[0]);
  spec.name = renamed_to == names.end() ? row[0] : renamed_to->second;
  if (!row[4].empty()) spec.microbatch_group_size = number(row[4]);
  const bool in_v = spec.name == "zb_v" || spec.name == "dualpipe_v";
  const auto vpp = static_cast<std::int32_t>(in_v ? 2 : row[3].empty() ? 1 : number(row[3]));
  const auto pp = static_cast<std::int32_t>(number(row[1]));
  const auto m = static_cast<std::int32_t>(number(row[2]));
  REQUIRE(!check_schedule_spec(spec, pp, vpp, m));
  const Schedule schedule = make_schedule(spec, pp, vpp, m);
  ReplayTimes times{{{number(row[5]), number(row[6]), number(row[7]), number(row[8])}}, {}, 0, 0};
  if (!row[9].empty()) times.pairs = {number(row[9])};
  const Replay got = replay(schedule, times);

  std::int64_t busy = 0, idle_min = got.makespan, idle_max = 0, span_idle = 0;
  std::int32_t peak_w = 0, peak_i = 0;
  for (std::size_t r = 0; r < got.ranks.size(); ++r) {
    busy = std::max(busy, got.ranks[r].busy);
    idle_min = std::min(idle_min, got.idle(r));
    idle_max = std::max(idle_max, got.idle(r));
    span_idle = std::max(span_idle, got.ranks[r].idle_inside_span());
    peak_w = std::max(peak_w, got.ranks[r].peak_freed_at_w);
    peak_i = std::max(peak_i, got.ranks[r].peak_freed_at_i);
  }
  const Row have = {got.makespan,
                    busy,
                    idle_min,
                    idle_max,
                    span_idle,
                    peak_w,
                    got.ranks.front().peak_freed_at_w,
                    got.ranks.back().peak_freed_at_w,
                    peak_i};
  Row want;
  for (std::size_t i = 10; i < row.size(); ++i) want.push_back(number(row[i]));
  CHECK(have == want);
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

TEST_CASE("Every replayed shape of the sweep is matched") {
  std::ifstream file(kSweep);
  if (!file) {
    MESSAGE("skipped: no " << kSweep);
    return;
  }
  std::string line;
  std::getline(file, line);
  int rows = 0;
  for (; std::getline(file, line); ++rows) {
    CAPTURE(line);
    check_sweep_row(cells_of(line));
  }
  CHECK(rows == 899);
}

TEST_CASE("A hand-picked part of the sweep is matched without the file") {
  const char* lines[] = {
      "gpipe,2,2,,,1,2,,,,9,6,3,3,3,2,2,2,2",
      "1f1b,2,2,,,1,2,,,,9,6,3,3,3,2,2,1,2",
      "interleaved,2,2,2,2,1,2,,,,15,12,3,3,3,4,4,3,4",
      "interleaved_ep_overlap,2,2,2,2,1,2,,,3,15,12,3,3,3,4,4,4,4",
      "loopedbfs,2,2,2,,1,2,,,,15,12,3,3,3,4,4,4,4",
      "zbh1,2,2,,,1,,1,1,,7,6,1,1,1,2,2,2,2",
      "zbv,2,2,,,1,,1,1,,14,12,2,2,2,4,3,4,4",
      "chimera,2,2,,,1,1,,,,4,4,0,0,0,2,2,2,2",
      "zbh2,2,4,,,1,,1,1,,13,12,1,1,0,3,3,3,3",
      "dualpipev,2,4,,,1,2,1,1,3,26,24,2,2,2,5,5,5,5",
      "dualpipe,2,4,,,1,2,1,1,3,12,12,0,0,0,3,3,3,3",
      "gpipe,4,4,,,3,5,,,,56,32,24,24,24,4,4,4,4",
      "1f1b,4,4,,,3,5,,,,56,32,24,24,24,4,4,1,4",
      "interleaved,4,4,2,4,3,5,,,,88,64,24,24,24,8,8,5,8",
      "interleaved_ep_overlap,4,4,2,4,3,5,,,8,88,64,24,24,24,8,8,6,8",
      "loopedbfs,4,4,2,,3,5,,,,88,64,24,24,24,8,8,8,8",
      "zbh1,4,4,,,2,,2,1,,29,20,9,9,9,4,4,4,4",
      "zbv,4,4,,,2,,2,1,,52,40,12,12,12,8,5,8,8",
      "zbh2,4,8,,,2,,2,1,,46,40,6,6,6,7,7,7,7",
      "dualpipev,4,8,,,10,20,11,9,24,486,450,36,48,36,9,9,9,9",
      "dualpipe,4,16,,,1,2,1,1,3,50,48,2,2,2,5,5,5,5",
      "chimera,4,16,,,1,1,,,,34,32,2,2,2,4,3,3,4",
      "gpipe,6,6,,,3,5,,,,88,48,40,40,40,6,6,6,6",
      "1f1b,6,6,,,3,5,,,,88,48,40,40,40,6,6,1,6",
      "interleaved,6,6,2,6,3,5,,,,136,96,40,40,40,12,12,7,12",
      "interleaved_ep_overlap,6,6,2,6,3,5,,,8,136,96,40,40,40,12,12,8,12",
      "loopedbfs,6,6,2,,3,5,,,,136,96,40,40,40,12,12,12,12",
      "zbh1,6,6,,,10,,11,9,,240,180,60,60,60,6,6,6,6",
      "zbv,6,6,,,10,,11,9,,470,360,110,110,110,12,7,12,12",
      "zbh2,6,12,,,10,,11,9,,410,360,50,50,15,11,11,11,11",
      "dualpipev,6,12,,,10,20,11,9,24,734,678,56,80,56,13,13,13,13",
      "chimera,6,12,,,1,2,,,,48,36,12,12,12,6,4,4,6",
      "dualpipe,6,24,,,1,2,1,1,3,76,72,4,4,4,7,7,7,7",
      "gpipe,8,8,,,1,2,,,,45,24,21,21,21,8,8,8,8",
      "1f1b,8,8,,,1,2,,,,45,24,21,21,21,8,8,1,8",
      "interleaved,8,8,3,8,1,2,,,,93,72,21,21,21,24,24,17,24",
      "interleaved_ep_overlap,8,8,3,8,1,2,,,3,93,72,21,21,21,24,24,18,24",
      "loopedbfs,8,8,3,,1,2,,,,93,72,21,21,21,24,24,24,24",
      "zbh1,8,8,,,10,,11,9,,324,240,84,84,84,8,8,8,8",
      "zbv,8,8,,,10,,11,9,,634,480,154,154,154,16,9,16,16",
      "zbh2,8,16,,,10,,11,9,,550,480,70,70,21,15,15,15,15",
      "dualpipev,8,16,,,1,2,1,1,3,110,96,14,14,14,17,17,17,17",
      "dualpipe,8,16,,,10,20,11,9,24,486,450,36,48,36,9,9,9,9",
      "chimera,8,16,,,1,1,,,,38,32,6,6,6,8,5,5,8",
      "gpipe,16,64,,,3,5,,,,632,512,120,120,120,64,64,64,64",
      "1f1b,16,64,,,3,5,,,,632,512,120,120,120,16,16,1,16",
      "interleaved,16,64,3,64,3,5,,,,1656,1536,120,120,120,159,159,129,159",
      "interleaved_ep_overlap,16,64,3,64,3,5,,,8,1656,1536,120,120,120,160,160,130,160",
      "loopedbfs,16,64,3,,3,5,,,,1656,1536,120,120,120,192,192,192,192",
      "zbh1,16,64,,,2,,2,1,,365,320,45,45,45,16,16,16,16",
      "zbh2,16,64,,,2,,2,1,,350,320,30,30,30,31,31,31,31",
      "zbv,16,64,,,2,,2,1,,670,640,30,30,30,32,32,32,32",
      "dualpipev,16,64,,,10,20,11,9,24,3515,3354,161,245,161,33,33,33,33",
      "dualpipe,16,64,,,10,20,11,9,24,1750,1674,76,112,76,17,17,17,17",
      "chimera,16,64,,,1,2,,,,262,192,70,70,70,16,9,9,16",
  };
  for (const std::string line : lines) {
    CAPTURE(line);
    check_sweep_row(cells_of(line));
  }
}
