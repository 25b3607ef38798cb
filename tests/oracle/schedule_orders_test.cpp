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
  const char* schedule; // nullptr: an order of the authors' search, only replayed
  std::int32_t pp, vpp, m;
  std::optional<std::int64_t> group_size;
  StageTimes times;
  std::optional<std::int64_t> pair;
  std::int64_t makespan, idle;
  Row span_idle, peak_w, peak_i;
};

constexpr StageTimes kF1B2{1, 2, 1, 1};
constexpr StageTimes kF1B1{1, 1, 1, 1};

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
      {"1f1b_p2_m4", "1f1b", 2, 1, 4, {}, kF1B2, {}, 15, 3, {3, 0}, {2, 1}, {2, 1}},
      {"1f1b_p4_m2", "1f1b", 4, 1, 2, {}, kF1B2, {}, 15, 9, {9, 6, 3, 0}, {2, 2, 2, 1}, {2, 2, 2, 1}},
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

TEST_CASE("Every worked schedule has its published order and start times") {
  std::ifstream file("../shared/data/schedules_oracle.yaml");
  if (!file) {
    MESSAGE("skipped: no ../shared/data/schedules_oracle.yaml");
    return;
  }
  std::map<std::string, YAML::Node> oracle;
  for (const YAML::Node& node : YAML::Load(file)["cases"]) oracle[node["id"].as<std::string>()] = node;
  for (const Case& c : cases()) {
    CAPTURE(c.id);
    const YAML::Node& want = oracle.at(c.id);
    const Schedule schedule = generate(c);
    const Replay got = replay(schedule, times_of(c));
    const bool two_directions = want["two_directions"].as<bool>();
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
      CAPTURE(r);
      CHECK(schedule.ranks[r] == parse_row(want["ranks"][r].as<std::string>(), two_directions, c.pp));
      CHECK(got.ranks[r].start == want["start"][r].as<Row>());
    }
  }
}
