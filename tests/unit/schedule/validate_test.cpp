// The validator: each fault, the first offending cell, the printed circle, and bounded receive buffers.
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "sim/schedule/table.h"
#include "sim/schedule/validate.h"

using namespace tessella;

namespace {

// Rows of cells, one per rank; stage s is held by rank s mod p.
Schedule schedule_of(const std::vector<std::string>& rows, std::int32_t stages, std::int32_t m) {
  Schedule s;
  s.name = "test";
  s.num_ranks = static_cast<std::int32_t>(rows.size());
  s.num_stages = stages;
  s.num_micro_batches = m;
  for (std::int32_t i = 0; i < stages; ++i) s.stage_ranks.push_back({PpRank{i % s.num_ranks}});
  for (const std::string& row : rows) {
    auto& slots = s.ranks.emplace_back();
    std::istringstream in(row);
    for (std::string cell; in >> cell;) slots.push_back(parse_slot(cell).value());
  }
  return s;
}

void check_problem(const Schedule& s, ScheduleFault fault, SlotRef where, const std::string& message) {
  const auto problem = validate(s);
  REQUIRE(problem);
  CHECK(problem->fault == fault);
  CHECK(problem->where == where);
  CHECK(problem->message == message);
}

SlotRef cell(std::int32_t rank, std::int32_t slot) {
  return {PpRank{rank}, slot};
}

} // namespace

TEST_CASE("A sound schedule has no problem") {
  CHECK(!validate(schedule_of({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"}, 2, 2)));
  CHECK(!validate(schedule_of({"0F0 0I0 0W0", "1F0 1B0"}, 2, 1))); // each micro-batch may split or not
  CHECK(!validate(schedule_of({"0F0 0F1 0F2 (0F3;0B0) 0B1 0B2 0B3", "1F0 1F1 (1F2;1B0) (1F3;1B1) 1B2 1B3"}, 2, 4)));
}

TEST_CASE("Each fault is found at its cell") {
  check_problem(schedule_of({"0F0 0B0 0F1", "1F0 1B0 1F1 1B1"}, 2, 2), ScheduleFault::missing, cell(0, 3),
                "0B1 is missing on rank 0");
  check_problem(schedule_of({"0F0 0I0", "1F0 1B0"}, 2, 1), ScheduleFault::missing, cell(0, 2),
                "0W0 is missing on rank 0");
  check_problem(schedule_of({"0F0 0W0 0B0", "1F0 1B0"}, 2, 1), ScheduleFault::duplicate, cell(0, 1),
                "0W0: its backward is a full B, which already holds the weight gradient");
  check_problem(schedule_of({"0F0 0B0 0I0", "1F0 1B0"}, 2, 1), ScheduleFault::duplicate, cell(0, 2),
                "0I0 is the second backward of stage 0 and micro-batch 0");
  check_problem(schedule_of({"0F0 0B0", "1F0 1B0 1F1"}, 2, 1), ScheduleFault::shape, cell(1, 2),
                "1F1 is outside 2 stages and 1 micro-batches");
  check_problem(schedule_of({"0F0 1B0", "1F0 0B0"}, 2, 1), ScheduleFault::placement, cell(0, 1),
                "1B0 stands on rank 0, which does not hold stage 1");
  check_problem(schedule_of({"0F0 0W0 0I0", "1F0 1B0"}, 2, 1), ScheduleFault::order, cell(0, 1),
                "0W0 stands before 0I0, which it needs, on rank 0");
  check_problem(schedule_of({"0F0 (0F1;0B1) 0B0", "1F0 1F1 1B1 1B0"}, 2, 2), ScheduleFault::bad_pair, cell(0, 1),
                "pair (0F1;0B1) of the same micro-batch 1: its backward needs its forward, so they cannot overlap");
  check_problem(schedule_of({"(0F0;0F1) 0B0 0B1", "1F0 1B0 1F1 1B1"}, 2, 2), ScheduleFault::bad_pair, cell(0, 0),
                "pair (0F0;0F1): a pair is a forward F and a backward B or I");
}

TEST_CASE("Sizes that do not fit are refused before anything is allocated") {
  Schedule s = schedule_of({"0F0 0B0"}, 1, 1);
  s.num_micro_batches = 1 << 30;
  CHECK(validate(s)->fault == ScheduleFault::missing);
  s.num_micro_batches = 0;
  CHECK(validate(s)->fault == ScheduleFault::shape);
  s = schedule_of({"0F0 0B0"}, 1, 1);
  s.num_shadow_micro_batches = 1;
  CHECK(validate(s)->fault == ScheduleFault::shape);
  s.num_shadow_micro_batches = 0;
  s.stage_ranks[0].clear();
  CHECK(validate(s)->message == "no rank runs stage 0");
  CHECK(validate(Schedule{})->fault == ScheduleFault::shape);
}

TEST_CASE("A backward runs where its forward ran") {
  Schedule s = schedule_of({"0F0 1B1 1F0 1B0", "0F1 1F1 0B1 0B0"}, 2, 2);
  s.stage_ranks = {{PpRank{0}, PpRank{1}}, {PpRank{0}, PpRank{1}}};
  const auto problem = validate(s);
  REQUIRE(problem);
  CHECK(problem->message == "stage 0 micro-batch 0 runs forward on rank 0 and backward on rank 1");
}

TEST_CASE("A deadlock names every rank of the circle") {
  const auto problem = validate(schedule_of({"0F0 0B0 0F1 0B1", "1F0 1F1 1B0 1B1"}, 2, 2));
  REQUIRE(problem);
  CHECK(problem->fault == ScheduleFault::deadlock);
  CHECK(problem->cycle == std::vector<SlotRef>{cell(0, 1), cell(1, 1)});
  CHECK(problem->message == "deadlock: rank 0 slot 1 (0B0) waits for 1B0 of rank 1, behind slot 1 there; "
                            "rank 1 slot 1 (1F1) waits for 0F1 of rank 0, behind slot 1 there");
}

TEST_CASE("A rank that only waits for the circle is not part of it") {
  // Ranks 1 and 2 block each other; rank 0 waits for rank 1.
  const auto problem = validate(schedule_of({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1", "2F0 2F1 2B0 2B1"}, 3, 2));
  REQUIRE(problem);
  CHECK(problem->cycle == std::vector<SlotRef>{cell(1, 1), cell(2, 1)});
}

TEST_CASE("GPipe with one receive buffer holds: the next rank takes each activation in turn") {
  ScheduleSpec spec;
  spec.name = "gpipe";
  CHECK(!validate(make_schedule(spec, 4, 1, 8), megatron_receive_buffers(4, 4)));
}

TEST_CASE("An order that needs two activations on the way deadlocks with one buffer and says so") {
  // Rank 1 takes micro-batch 1 first, while rank 0 sends micro-batch 0 first.
  const Schedule s = schedule_of({"0F0 0F1 0B1 0B0", "1F1 1B1 1F0 1B0"}, 2, 2);
  CHECK(!validate(s));
  CHECK(!validate(s, ReceiveBuffers{{2, 2}, {2, 2}}));
  const auto problem = validate(s, ReceiveBuffers{{1, 1}, {1, 1}});
  REQUIRE(problem);
  CHECK(problem->fault == ScheduleFault::deadlock);
  CHECK(problem->message == "deadlock: rank 1 slot 0 (1F1) waits for 0F1 of rank 0; "
                            "rank 0 slot 1 (0F1) cannot send 0F1: rank 1 has no free buffer");
}

TEST_CASE("Megatron's receive buffers") {
  CHECK(megatron_receive_buffers(4, 4) == ReceiveBuffers{{1, 1, 1, 1}, {1, 1, 1, 1}});
  CHECK(megatron_receive_buffers(4, 8) == ReceiveBuffers{{5, 1, 1, 1}, {1, 1, 1, 5}});
}
