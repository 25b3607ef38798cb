// The table: names, aliases, which numbers are legal, and the nearest legal one.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "sim/base/check.h"
#include "sim/schedule/table.h"

using namespace tessella;

namespace {

ScheduleSpec named(const char* name) {
  ScheduleSpec spec;
  spec.name = name;
  return spec;
}

// num_micro_batches is the broken rule; returns the nearest legal one, 0 when m is legal.
std::int64_t nearest_of(const ScheduleSpec& spec, std::int32_t pp, std::int32_t vpp, std::int32_t m) {
  const auto illegal = check_schedule_spec(spec, pp, vpp, m);
  if (!illegal) return 0;
  CHECK(illegal->parameter == "num_micro_batches");
  CHECK(!check_schedule_spec(spec, pp, vpp, static_cast<std::int32_t>(illegal->nearest.value())));
  return illegal->nearest.value();
}

} // namespace

TEST_CASE("Names and aliases are unique, and case and underscores do not matter") {
  std::set<std::string_view> seen;
  for (const ScheduleInfo& row : schedule_table()) {
    CHECK(seen.insert(row.name).second);
    for (const auto alias : row.aliases) CHECK(seen.insert(alias).second);
    CHECK(find_schedule(row.name) == &row);
    CHECK(!row.description.empty());
    CHECK(!row.constraints.empty());
  }
  CHECK(find_schedule("ZBVZeroBubble")->name == "zb_v");
  CHECK(find_schedule("DualPipeV")->name == "dualpipe_v");
  CHECK(find_schedule("InterleavedZeroBubble")->name == "interleaved_zb");
  CHECK(find_schedule("GPipe")->name == "gpipe");
  CHECK(find_schedule("2f2b") == nullptr);
}

TEST_CASE("An unknown name is answered with the nearest known one") {
  const auto illegal = check_schedule_spec(named("dualpip"), 4, 1, 8);
  REQUIRE(illegal);
  CHECK(illegal->parameter == "name");
  CHECK(illegal->rule == "unknown schedule 'dualpip'; did you mean 'dualpipe'?");
}

TEST_CASE("Megatron's interleaved schedule takes m mod N = 0 or >= p, and N between p and m") {
  const ScheduleSpec spec = named("interleaved_1f1b");
  CHECK(nearest_of(spec, 4, 2, 8) == 0);
  CHECK(nearest_of(spec, 4, 2, 9) == 8);
  CHECK(nearest_of(spec, 4, 2, 10) == 12); // 8 and 12 are equally near: the larger
  CHECK(nearest_of(spec, 4, 2, 3) == 4);
  CHECK(nearest_of(spec, 4, 2, 0) == 4);
  CHECK(nearest_of(spec, 4, 2, -7) == 4);
  ScheduleSpec grouped = spec;
  grouped.microbatch_group_size = 6;
  CHECK(nearest_of(grouped, 4, 2, 10) == 0); // 10 mod 6 = 4 >= p
  CHECK(nearest_of(grouped, 4, 2, 9) == 10); // 9 mod 6 = 3
  CHECK(nearest_of(grouped, 4, 2, 5) == 6);  // m < N
  CHECK(check_schedule_spec(spec, 4, 2, 9)->rule ==
        "interleaved_1f1b: num_micro_batches mod microbatch_group_size_per_vp_stage is 9 mod 4 = 1; it must be 0 or at "
        "least pipeline_model_parallel_size = 4");
  grouped.microbatch_group_size = 3;
  const auto small = check_schedule_spec(grouped, 4, 2, 9);
  REQUIRE(small);
  CHECK(small->parameter == "microbatch_group_size_per_vp_stage");
  CHECK(small->nearest == 4);
}

TEST_CASE("Schedules without chunks ignore the group size, as Megatron does") {
  ScheduleSpec spec = named("1f1b");
  spec.microbatch_group_size = 1;
  CHECK(!check_schedule_spec(spec, 4, 1, 3));
  CHECK(make_schedule(spec, 4, 1, 3) == make_schedule(named("1f1b"), 4, 1, 3));
}

TEST_CASE("The bidirectional schedules say what they need") {
  CHECK(nearest_of(named("dualpipe"), 4, 1, 7) == 8);
  CHECK(nearest_of(named("dualpipe"), 4, 1, 9) == 10);
  CHECK(nearest_of(named("dualpipe_v"), 4, 2, 7) == 8);
  CHECK(nearest_of(named("dualpipe_v"), 4, 2, 9) == 0);
  CHECK(nearest_of(named("chimera"), 4, 1, 6) == 8);
  const auto odd = check_schedule_spec(named("dualpipe"), 5, 1, 20);
  REQUIRE(odd);
  CHECK(odd->parameter == "pipeline_model_parallel_size");
  CHECK(odd->nearest == 6);
}

TEST_CASE("Chunks per rank are checked and the sibling schedule is named") {
  const auto flat = check_schedule_spec(named("gpipe"), 4, 2, 8);
  REQUIRE(flat);
  CHECK(flat->parameter == "num_virtual_stages_per_pipeline_rank");
  CHECK(flat->nearest == 1);
  CHECK(make_schedule(named("1f1b"), 4, 2, 8).name == "interleaved_1f1b"); // Megatron's 1F1B with chunks
  CHECK(check_schedule_spec(named("interleaved_1f1b"), 4, 1, 8)->nearest == 2);
  CHECK(check_schedule_spec(named("zb_v"), 4, 3, 8)->nearest == 2);
}

TEST_CASE("overlap_moe_expert_parallel_comm turns the 1F1B family into pairs") {
  ScheduleSpec spec = named("interleaved_1f1b");
  spec.overlap_moe_expert_parallel_comm = true;
  CHECK(make_schedule(spec, 4, 2, 8).name == "combined_1f1b");
  spec.name = "1f1b";
  CHECK(make_schedule(spec, 1, 1, 8).name == "combined_1f1b");
  spec.name = "interleaved_1f1b_shadow";
  CHECK(make_schedule(spec, 4, 2, 9).name == "combined_1f1b_shadow");
  spec.name = "dualpipe"; // pairs of its own
  CHECK(make_schedule(spec, 4, 1, 8).name == "dualpipe");
  spec.name = "gpipe";
  CHECK(check_schedule_spec(spec, 4, 1, 8)->parameter == "overlap_moe_expert_parallel_comm");
}

TEST_CASE("Shadow micro-batches pad to the next number Megatron takes") {
  const Schedule schedule = make_schedule(named("interleaved_1f1b_shadow"), 4, 2, 9);
  CHECK(schedule.num_micro_batches == 12);
  CHECK(schedule.num_shadow_micro_batches == 3);
  CHECK(!schedule.is_shadow(MicroBatch{8}));
  CHECK(schedule.is_shadow(MicroBatch{9}));
  CHECK(make_schedule(named("interleaved_1f1b_shadow"), 4, 2, 8).num_shadow_micro_batches == 0);
  CHECK(make_schedule(named("interleaved_1f1b_shadow"), 4, 2, 1).num_micro_batches == 4);
}

TEST_CASE("A run of an absurd size is refused, not attempted") {
  const auto illegal = check_schedule_spec(named("1f1b"), 64, 1, 1 << 30);
  REQUIRE(illegal);
  CHECK(illegal->parameter == "num_micro_batches");
}

TEST_CASE("Making an illegal schedule is our bug") {
  CHECK_THROWS_AS(make_schedule(named("chimera"), 4, 1, 6), InternalError);
}
