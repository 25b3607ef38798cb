// Laws that hold for every schedule of the table on every small legal shape.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/rng.h"
#include "sim/schedule/replay.h"
#include "sim/schedule/slot_index.h"
#include "sim/schedule/table.h"
#include "sim/schedule/text.h"
#include "sim/schedule/torch_csv.h"
#include "sim/schedule/validate.h"

using namespace tessella;

namespace {

struct Shape {
  const ScheduleInfo& row;
  ScheduleSpec spec;
  std::int32_t pp, vpp, m;
  Schedule schedule;
};

// Every legal shape with p <= 6, v <= 3 and m <= 3p + 2, groups of N = p and N = p + 1.
template <class Law>
void for_all_shapes(Law law) {
  int shapes = 0;
  for (const ScheduleInfo& row : schedule_table()) {
    for (std::int32_t pp = 1; pp <= 6; ++pp)
      for (std::int32_t vpp = 1; vpp <= 3; ++vpp)
        for (std::int32_t m = 1; m <= 3 * pp + 2; ++m)
          for (std::int32_t group = pp; group <= (row.uses_group_size ? pp + 1 : pp); ++group) {
            ScheduleSpec spec;
            spec.name = std::string(row.name);
            spec.microbatch_group_size = group;
            if (check_schedule_spec(spec, pp, vpp, m)) continue;
            if (row.max_vpp && vpp > *row.max_vpp) continue; // 1f1b stands for interleaved_1f1b there
            CAPTURE(spec.name);
            CAPTURE(pp);
            CAPTURE(vpp);
            CAPTURE(m);
            CAPTURE(group);
            law(Shape{row, spec, pp, vpp, m, make_schedule(spec, pp, vpp, m)});
            ++shapes;
          }
  }
  CHECK(shapes > 1000);
}

// Arbitrary but repeatable durations, 1..50.
std::vector<StageTimes> some_times(std::int32_t stages, std::uint64_t seed) {
  const Stream stream(seed, Purpose::test);
  const auto draw = [&](std::uint64_t i) { return static_cast<std::int64_t>(1 + stream.word(i) % 50); };
  std::vector<StageTimes> times;
  for (std::uint64_t s = 0; s < static_cast<std::uint64_t>(stages); ++s) {
    const std::int64_t i = draw(3 * s + 1);
    const std::int64_t w = draw(3 * s + 2);
    times.push_back({draw(3 * s), i + w, i, w});
  }
  return times;
}

// The first forward of a rank waits for the forwards of all stages before its lowest; where B is one piece, the
// gradients still pass those stages after the rank's last backward.
std::int64_t lower_bound(const Shape& shape, const std::vector<StageTimes>& times) {
  std::int64_t bound = 0;
  for (const auto& slots : shape.schedule.ranks) {
    std::int64_t work = 0;
    std::size_t lowest = times.size();
    for (const Slot& slot : slots)
      for_each_action(slot, [&](const Action& a) {
        if (shape.schedule.is_shadow(a.micro_batch)) return;
        const StageTimes& t = times[static_cast<std::size_t>(a.stage.value)];
        work += a.kind == ActionKind::F ? t.f : a.kind == ActionKind::B ? t.b : a.kind == ActionKind::I ? t.i : t.w;
        lowest = std::min(lowest, static_cast<std::size_t>(a.stage.value));
      });
    for (std::size_t s = 0; s < lowest; ++s) work += times[s].f + (shape.row.splits_backward ? 0 : times[s].b);
    bound = std::max(bound, work);
  }
  return bound;
}

} // namespace

TEST_CASE("Every generated schedule is sound, in the numbers it was asked for") {
  for_all_shapes([](const Shape& shape) {
    const auto problem = validate(shape.schedule);
    CHECK_MESSAGE(!problem, problem->message);
    CHECK(shape.schedule.name == shape.row.name);
    CHECK(shape.schedule.num_ranks == shape.pp);
    CHECK(shape.schedule.num_stages == shape.pp * shape.vpp);
    CHECK(shape.schedule.num_micro_batches - shape.schedule.num_shadow_micro_batches == shape.m);
  });
}

TEST_CASE("The table tells the truth about splits, pairs and directions") {
  for_all_shapes([](const Shape& shape) {
    bool split = false;
    bool pairs = false;
    bool two_directions = false;
    for (const auto& slots : shape.schedule.ranks)
      for (const Slot& slot : slots) {
        split |= slot.first.kind == ActionKind::W;
        pairs |= slot.second.has_value();
      }
    for (const auto& holders : shape.schedule.stage_ranks) two_directions |= holders.size() > 1;
    if (split) CHECK(shape.row.splits_backward);
    if (pairs) CHECK(shape.row.has_pairs);
    CHECK(two_directions == shape.row.two_directions);
  });
}

TEST_CASE("Text grids and torch files are read back as they were written") {
  for_all_shapes([](const Shape& shape) {
    CHECK(parse_grid(to_grid(shape.schedule), "grid") == shape.schedule);
    if (shape.row.two_directions) return;
    Schedule plain = shape.schedule;
    plain.num_shadow_micro_batches = 0; // torch has no word for them
    CHECK(import_torch_csv(to_csv(to_torch_grid(plain)), "csv", plain.name).schedule == plain);
    CHECK(import_torch_csv(to_csv(lower_to_comms(plain)), "csv", plain.name).schedule == plain);
  });
}

TEST_CASE("Megatron's receive buffers are enough for its schedules") {
  for_all_shapes([](const Shape& shape) {
    const bool megatron = shape.row.name == "1f1b" || shape.row.uses_group_size;
    if (!megatron) return;
    const auto buffers =
        megatron_receive_buffers(shape.pp, static_cast<std::int32_t>(shape.spec.microbatch_group_size.value()));
    const auto problem = validate(shape.schedule, buffers);
    CHECK_MESSAGE(!problem, problem->message);
  });
}

TEST_CASE("Groups larger than p need the extra buffers at both ends") {
  ScheduleSpec spec;
  spec.name = "interleaved_1f1b";
  spec.microbatch_group_size = 6;
  const Schedule schedule = make_schedule(spec, 4, 2, 12);
  CHECK(!validate(schedule, megatron_receive_buffers(4, 6)));
  const auto problem = validate(schedule, megatron_receive_buffers(4, 4));
  REQUIRE(problem);
  CHECK(problem->fault == ScheduleFault::deadlock);
}

TEST_CASE("No rank finishes before its own work and the forwards it waits for") {
  for_all_shapes([](const Shape& shape) {
    const auto times = some_times(shape.schedule.num_stages, static_cast<std::uint64_t>(shape.m));
    const Replay got = replay(shape.schedule, {times, {}, 0, 0});
    CHECK(got.makespan >= lower_bound(shape, times));
    for (std::size_t r = 0; r < got.ranks.size(); ++r) CHECK(got.idle(r) >= got.ranks[r].idle_inside_span());
  });
}

TEST_CASE("Longer actions and slower links never shorten the makespan") {
  for_all_shapes([](const Shape& shape) {
    auto times = some_times(shape.schedule.num_stages, static_cast<std::uint64_t>(shape.pp));
    const std::int64_t before = replay(shape.schedule, {times, {}, 0, 0}).makespan;
    CHECK(replay(shape.schedule, {times, {}, 3, 0}).makespan >= before);
    times[static_cast<std::size_t>(shape.m % shape.schedule.num_stages)].i += 10;
    CHECK(replay(shape.schedule, {times, {}, 0, 0}).makespan >= before);
  });
}

TEST_CASE("Doubling every time doubles every start") {
  for_all_shapes([](const Shape& shape) {
    auto times = some_times(shape.schedule.num_stages, 5);
    const Replay once = replay(shape.schedule, {times, {}, 1, 0});
    for (StageTimes& t : times) t = {2 * t.f, 2 * t.b, 2 * t.i, 2 * t.w};
    const Replay twice = replay(shape.schedule, {times, {}, 2, 0});
    CHECK(twice.makespan == 2 * once.makespan);
    for (std::size_t r = 0; r < once.ranks.size(); ++r)
      for (std::size_t i = 0; i < once.ranks[r].start.size(); ++i)
        CHECK_FALSE(twice.ranks[r].start[i] != 2 * once.ranks[r].start[i]);
  });
}

TEST_CASE("Peaks stay within the published counts") {
  for_all_shapes([](const Shape& shape) {
    const auto [p, v] = std::pair(shape.pp, shape.vpp);
    const std::int32_t n = static_cast<std::int32_t>(shape.spec.microbatch_group_size.value());
    const std::int32_t all = shape.schedule.num_micro_batches * v;
    const Replay got = replay(shape.schedule, {{{1, 2, 1, 1}}, {}, 0, 0});
    for (std::int32_t r = 0; r < p; ++r) {
      const std::int32_t peak = got.ranks[static_cast<std::size_t>(r)].peak_freed_at_w;
      CHECK(peak <= all);
      if (shape.row.name == "1f1b") CHECK(peak == std::min(shape.m, p - r));
      if (shape.row.name == "interleaved_1f1b") CHECK(peak == std::min(all, 2 * (p - 1 - r) + (v - 1) * n + 1));
      if (shape.row.name == "combined_1f1b") CHECK(peak == std::min(all, 2 * (p - 1 - r) + (v - 1) * n + 2));
      if (shape.row.name == "gpipe" || shape.row.name == "looped_bfs") CHECK(peak == all);
      if (shape.row.name == "zb_h1") CHECK(peak <= p);
      if (shape.row.name == "zb_h2") CHECK(peak <= 2 * p - 1);
      if (shape.row.name == "zb_v") CHECK(peak <= 2 * p);
      if (shape.row.name == "v_half") CHECK(peak <= 2 * ((p + 2) / 2));
      if (shape.row.name == "v_min") CHECK(peak <= 2 * ((p + 4) / 3));
      if (shape.row.name == "dualpipe") CHECK(peak == p + 1);
      if (shape.row.name == "dualpipe_v") CHECK(peak == 2 * p + 1);
      if (shape.row.name == "chimera") CHECK(peak <= p);
    }
  });
}

TEST_CASE("A pair that takes F + B is as good as no pair, with chunks") {
  for (std::int32_t pp = 2; pp <= 6; ++pp)
    for (std::int32_t vpp = 2; vpp <= 3; ++vpp)
      for (std::int32_t groups = 1; groups <= 3; ++groups) {
        ScheduleSpec spec;
        spec.name = "interleaved_1f1b";
        const ReplayTimes times{{{3, 5, 0, 0}}, {}, 0, 0};
        const std::int64_t plain = replay(make_schedule(spec, pp, vpp, groups * pp), times).makespan;
        spec.overlap_moe_expert_parallel_comm = true;
        CHECK(replay(make_schedule(spec, pp, vpp, groups * pp), times).makespan == plain);
      }
}

TEST_CASE("Free shadows never cost more than the micro-batches they stand for") {
  for (std::int32_t pp = 2; pp <= 5; ++pp)
    for (std::int32_t m = 1; m <= 3 * pp; ++m) {
      ScheduleSpec spec;
      spec.name = "interleaved_1f1b_shadow";
      const Schedule padded = make_schedule(spec, pp, 2, m);
      Schedule full = padded;
      full.num_shadow_micro_batches = 0;
      const ReplayTimes times{{{3, 5, 0, 0}}, {}, 0, 0};
      CHECK(replay(padded, times).makespan <= replay(full, times).makespan);
    }
}

TEST_CASE("Swapping two slots of a rank gives a sound schedule or a problem, never a crash") {
  ScheduleSpec spec;
  spec.name = "zb_v";
  const Schedule sound = make_schedule(spec, 3, 2, 6);
  int still_sound = 0;
  int refused = 0;
  for (std::size_t r = 0; r < sound.ranks.size(); ++r)
    for (std::size_t i = 0; i < sound.ranks[r].size(); ++i)
      for (std::size_t k = i + 1; k < sound.ranks[r].size(); ++k) {
        Schedule swapped = sound;
        std::swap(swapped.ranks[r][i], swapped.ranks[r][k]);
        const auto problem = validate(swapped);
        if (problem) {
          ++refused;
          CHECK((problem->fault == ScheduleFault::order || problem->fault == ScheduleFault::deadlock));
        } else {
          ++still_sound;
          CHECK(replay(swapped, {{{1, 2, 1, 1}}, {}, 0, 0}).makespan > 0);
        }
      }
  CHECK(still_sound > 0);
  CHECK(refused > 0);
}
