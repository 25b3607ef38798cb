// Action, grid and torch CSV texts: what is read, what is written, what is refused.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "sim/schedule/table.h"
#include "sim/schedule/text.h"
#include "sim/schedule/torch_csv.h"

using namespace tessella;

namespace {

std::string error_of(const std::string& grid) {
  try {
    parse_grid(grid, "g.txt");
  } catch (const InputError& error) {
    return format_error(error);
  }
  return "no error";
}

Schedule make(const char* name, std::int32_t pp, std::int32_t vpp, std::int32_t m) {
  ScheduleSpec spec;
  spec.name = name;
  return make_schedule(spec, pp, vpp, m);
}

} // namespace

TEST_CASE("Actions and pairs are read as they are written") {
  CHECK(parse_action("12I345") == Action{Stage{12}, ActionKind::I, MicroBatch{345}});
  for (const char* text : {"0F0", "3B12", "(2F1;0B3)"}) CHECK(to_text(parse_slot(text).value()) == text);
  CHECK(parse_slot("(2F1;0B3)OVERLAP_F_B") == parse_slot("(2F1;0B3)"));
  for (const char* text : {"", "F0", "0F", "0X0", "0f0", " 0F0", "0F0 ", "-1F0", "0F-1", "0F0x", "(0F0)", "(0F0;1B1",
                           "0F0;1B1)", "(;)", "()", "(", "(0F0;1B1)X", "99999999999F0", "0F99999999999"})
    CHECK_MESSAGE(!parse_slot(text), text);
}

TEST_CASE("A grid is read back as it was written") {
  const char* grid = "# a comment\n"
                     "schedule mine ranks=2 stages=2 micro_batches=3 shadow=1\n"
                     "\n"
                     "r0: 0F0 0F1 0B0 0F2 0B1 0B2\n"
                     "r1:\t1F0 1B0 1F1 1B1 1F2 1B2\r\n";
  const Schedule s = parse_grid(grid, "g.txt");
  CHECK(s.name == "mine");
  CHECK(s.num_shadow_micro_batches == 1);
  CHECK(s.ranks == make("1f1b", 2, 1, 3).ranks);
  CHECK(parse_grid(to_grid(s), "again") == s);
}

TEST_CASE("Bad grids are refused at their cell") {
  const std::string head = "schedule x ranks=2 stages=2 micro_batches=1\n";
  CHECK(error_of(head + "r0: 0F0 0Q0\nr1: 1F0 1B0\n") ==
        "g.txt:2:9: error: '0Q0' is no action: expected <stage><F|B|I|W><micro-batch> or a pair of them, "
        "(<action>;<action>)\n    2 | r0: 0F0 0Q0\n      |         ^~~\n");
  CHECK(error_of(head + "r0: 0F0 0B0\nr2: 1F0 1B0\n") ==
        "g.txt:3:1: error: expected 'r1:' here, got 'r2:'\n    3 | r2: 1F0 1B0\n      | ^~~\n");
  CHECK(error_of(head + "r0: 0F0 0B0\nr1: 1B0 1F0\n").find("g.txt:3:5: error: 1B0 stands before 1F0") == 0);
  CHECK(error_of(head + "r0: 0F0 0B0\n").find("g.txt:1:10: error: the first line says ranks=2, the rows have 1") == 0);
  CHECK(error_of("0F0 0B0\n").find("g.txt:1:1: error: a grid starts with") == 0);
  CHECK(error_of("schedule x rank=2\nr0: 0F0 0B0\n").find("unknown key 'rank'; did you mean 'ranks'?") !=
        std::string::npos);
  CHECK(error_of("schedule x ranks=two\nr0: 0F0 0B0\n").find("'ranks=two' is not <key>=<number>") != std::string::npos);
  CHECK(error_of("") == "g.txt: error: no schedule here\n");
  CHECK(error_of("schedule x shadow=1\nr0: 0F0 0B0\n") == "g.txt: error: 1 of 1 micro-batches are shadows\n");
}

TEST_CASE("torch's own example of the lowering") {
  const std::string compute = "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n";
  const Schedule s = import_torch_csv(compute, "f", "f").schedule;
  CHECK(to_csv(lower_to_comms(s)) == "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0F2,0SEND_F2,0RECV_B1,0B1,0RECV_B2,0B2\n"
                                     "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1RECV_F2,1B1,1SEND_B1,1F2,1B2,1SEND_B2\n");
  CHECK(to_csv(to_torch_grid(s)) == compute);
}

TEST_CASE("Idle cells and sharding actions are kept in a grid and left out of a schedule") {
  const std::string csv = "0UNSHARD,0F0,,0B0,0REDUCE_GRAD,0RESHARD\n,1F0,1B0,,,\n";
  CHECK(to_csv(parse_torch_csv(csv, "f")) == csv);
  CHECK(import_torch_csv(csv, "f", "f").schedule.ranks[0].size() == 2);
  CHECK_THROWS_AS(parse_torch_csv("0UNSHARD1,0F0\n", "f"), InputError);
  CHECK_THROWS_AS(parse_torch_csv("0SEND_F,0F0\n", "f"), InputError);
}

TEST_CASE("Old letters are recognised and said in a note") {
  const auto old = import_torch_csv("0F0,0B0,0W0\n1F0,1BW0\n", "f", "f");
  REQUIRE(old.notes.size() == 1);
  CHECK(old.notes[0].find("old letters") == 0);
  CHECK(to_text(old.schedule.ranks[0][1]) == "0I0");
  CHECK(to_text(old.schedule.ranks[1][1]) == "1B0");
  const auto without_bw = import_torch_csv("0F0,0B0,0W0\n1F0,1B0,1W0\n", "f", "f");
  CHECK(without_bw.notes.size() == 1);
  CHECK(to_text(without_bw.schedule.ranks[1][1]) == "1I0");
  CHECK(import_torch_csv("0F0,0B0\n1F0,1B0\n", "f", "f").notes.empty());
  CHECK(import_torch_csv("0F0,0I0,0W0\n1F0,1B0\n", "f", "f").notes.empty());
}

TEST_CASE("Two directions cannot be written for torch, and say why") {
  CHECK_THROWS_WITH_AS(to_torch_grid(make("dualpipe", 4, 1, 8)),
                       "dualpipe: error: holds stages on two ranks; torch.distributed.pipelining has one rank per "
                       "stage\n",
                       InputError);
  CHECK_THROWS_AS(lower_to_comms(make("chimera", 4, 1, 8)), InputError);
}
