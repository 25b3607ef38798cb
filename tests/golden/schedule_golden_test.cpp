// Every schedule of the table as a small grid with its timeline; and the error texts of bad orders.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/schedule/replay.h"
#include "sim/schedule/table.h"
#include "sim/schedule/text.h"
#include "sim/schedule/timeline.h"
#include "sim/schedule/torch_csv.h"
#include "tests/support/golden.h"

using namespace tessella;
using tessella::testing::check_golden;

namespace {

// Small shapes that show what is special about a schedule; the default is p=4 m=8 with the fewest chunks allowed.
struct Shape {
  std::int32_t pp, vpp, m;
};

Shape shape_of(const ScheduleInfo& row) {
  if (row.name == "interleaved_1f1b_torch") return {4, 2, 10};
  if (row.name == "interleaved_1f1b_shadow" || row.name == "combined_1f1b_shadow") return {4, 2, 6};
  if (row.name == "combined_1f1b" || row.name == "looped_bfs" || row.name == "interleaved_zb") return {4, 2, 8};
  return {4, row.min_vpp, 8};
}

// F = I = W = 1, B = 2; a pair takes the time of both.
std::string picture(const Schedule& schedule) {
  return to_grid(schedule) + timeline(schedule, replay(schedule, {{{1, 2, 1, 1}}, {}, 0, 0}));
}

std::string table_text() {
  std::string text;
  for (const ScheduleInfo& row : schedule_table()) {
    text += std::string(row.name);
    for (const std::string_view alias : row.aliases) text += " | " + std::string(alias);
    text += "\n  " + std::string(row.description) + "\n  " + std::string(row.constraints) + "\n";
  }
  return text;
}

// The ends of the link from rank 0 to rank 1 disagree about the order.
constexpr const char* kLinkDisagrees = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                                       "1RECV_F1,1RECV_F0,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n";

std::string error_of(const char* csv) {
  try {
    import_torch_csv(csv, "bad.csv", "bad");
  } catch (const InputError& error) {
    return std::string(csv) + "=>\n" + format_error(error) + "\n";
  }
  return std::string(csv) + "=> no error\n\n";
}

} // namespace

TEST_CASE("Every schedule keeps its order") {
  for (const ScheduleInfo& row : schedule_table()) {
    const Shape shape = shape_of(row);
    ScheduleSpec spec;
    spec.name = std::string(row.name);
    REQUIRE(!check_schedule_spec(spec, shape.pp, shape.vpp, shape.m));
    check_golden("tests/golden/schedule/" + spec.name + ".txt",
                 picture(make_schedule(spec, shape.pp, shape.vpp, shape.m)));
  }
}

TEST_CASE("The table keeps its rows") {
  check_golden("tests/golden/schedule/table.txt", table_text());
}

TEST_CASE("The lowering to sends and receives keeps its order") {
  ScheduleSpec spec;
  for (const char* name : {"zb_v", "dualpipe_v"}) {
    spec.name = name;
    check_golden("tests/golden/schedule/" + spec.name + "_comms.csv",
                 to_csv(lower_to_comms(make_schedule(spec, 2, 2, 4))));
  }
}

TEST_CASE("Bad torch files are refused where they go wrong") {
  const char* files[] = {
      "0F0,0X0\n1F0,1B0\n",                                     // unknown letter
      "0F0,0B0\n1F0\n",                                         // a row that ends early
      "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1F1,1B1\n",                 // an action twice
      "0F0,0F1,0B0,0B1\n1F0,(1F1;1B1)OVERLAP_F_B,1B0\n",        // a pair of the same micro-batch
      "0B0,0F0\n1F0,1B0\n",                                     // backward before its forward
      "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n",                     // ranks wait for each other
      "0F0,0F1,0B0,0B1\n1F0,1B0,0F1,1B1\n",                     // a stage on two ranks
      "0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n", // received after use
      "0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",          // never sent
      kLinkDisagrees,
      "0F0,0I0,0W0\n1F0,1BW0\n", // old and new letters
      "0F0,0B0\n\n",             // a rank without actions
      "0F0,99999999B0\n",        // an absurd number
  };
  std::string text;
  for (const char* file : files) text += error_of(file);
  check_golden("tests/golden/schedule/torch_errors.txt", text);
}
