// Every generator against 899 replayed shapes: makespan, busy and idle time, peaks. A part of the rows is copied here;
// all are read from ../shared/data where that is present.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "sim/schedule/replay.h"
#include "sim/schedule/table.h"

using namespace tessella;

namespace {

using Row = std::vector<std::int64_t>;

constexpr const char* kSweep = "../shared/data/schedules_sweep.csv";

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
