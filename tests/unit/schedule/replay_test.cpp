// The replay: start times a reader can check with a pencil.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/base/check.h"
#include "sim/schedule/replay.h"
#include "sim/schedule/table.h"
#include "sim/schedule/timeline.h"

using namespace tessella;

namespace {

Schedule make(const char* name, std::int32_t pp, std::int32_t vpp, std::int32_t m) {
  ScheduleSpec spec;
  spec.name = name;
  return make_schedule(spec, pp, vpp, m);
}

using Row = std::vector<std::int64_t>;

} // namespace

TEST_CASE("Two ranks, two micro-batches, by hand") {
  // r0: F0 F1 . B0 . B1        r1: . F0 B0 F1 B1
  const Replay got = replay(make("1f1b", 2, 1, 2), {{{1, 2, 0, 0}}, {}, 0, 0});
  CHECK(got.ranks[0].start == Row{0, 1, 4, 7});
  CHECK(got.ranks[1].start == Row{1, 2, 4, 5});
  CHECK(got.ranks[1].end == Row{2, 4, 5, 7});
  CHECK(got.makespan == 9);
  CHECK(got.idle(0) == 3);
  CHECK(got.ranks[0].idle_inside_span() == 3);
  CHECK(got.ranks[1].idle_inside_span() == 0);
  CHECK(got.bubble_fraction() == doctest::Approx(1.0 / 3.0));
}

TEST_CASE("Communication delays only what crosses ranks") {
  const Replay got = replay(make("1f1b", 2, 1, 1), {{{1, 2, 0, 0}}, {}, 10, 0});
  CHECK(got.ranks[1].start == Row{11, 12}); // F0 arrives at 11, its backward follows on the same rank
  CHECK(got.ranks[0].start == Row{0, 24});
  // In a V the turn from the last stage of the way down to the first of the way up stays on rank 1.
  const Replay v = replay(make("zb_v", 2, 2, 1), {{{1, 0, 1, 1}}, {}, 10, 0});
  CHECK(v.ranks[1].start[0] == 11);
  CHECK(v.ranks[1].start[1] == 12);
}

TEST_CASE("Stages may differ, and pairs may cost anything") {
  const Replay uneven = replay(make("gpipe", 2, 1, 2), {{{1, 2, 0, 0}, {5, 7, 0, 0}}, {}, 0, 0});
  CHECK(uneven.ranks[1].start == Row{1, 6, 11, 18});
  CHECK(uneven.ranks[0].start == Row{0, 1, 18, 25});
  // One rank: F0 (F1;B0) B1, the pair of stage 0 with itself.
  const Schedule single = make("combined_1f1b", 1, 1, 2);
  CHECK(replay(single, {{{1, 2, 0, 0}}, {}, 0, 0}).makespan == 6);
  CHECK(replay(single, {{{1, 2, 0, 0}}, {2}, 0, 0}).makespan == 5);
  // A matrix [forward stage][backward stage]: 2 stages on 1 rank each.
  const Schedule two = make("combined_1f1b", 2, 1, 4);
  const Replay flat = replay(two, {{{1, 2, 0, 0}}, {3}, 0, 0});
  CHECK(replay(two, {{{1, 2, 0, 0}, {1, 2, 0, 0}}, {3, 99, 99, 3}, 0, 0}) == flat);
}

TEST_CASE("Shadows cost their own time, and half a pair costs the other half") {
  const Schedule padded = make("combined_1f1b_shadow", 2, 2, 3); // micro-batch 3 is a shadow
  const Replay free_shadows = replay(padded, {{{1, 2, 0, 0}}, {3}, 0, 0});
  for (const RankReplay& rank : free_shadows.ranks) CHECK(rank.busy == 3 * 2 * 3); // 3 real micro-batches, 2 chunks
  const Replay costly = replay(padded, {{{1, 2, 0, 0}}, {3}, 0, 5});
  CHECK(costly.makespan > free_shadows.makespan);
}

TEST_CASE("A pair counts its forward before its backward frees") {
  const Replay got = replay(make("combined_1f1b", 1, 1, 4), {{{1, 2, 0, 0}}, {}, 0, 0});
  CHECK(got.ranks[0].peak_freed_at_w == 2);
}

TEST_CASE("Nothing to do takes no time") {
  const Replay got = replay(make("1f1b", 2, 1, 2), {{{0, 0, 0, 0}}, {}, 0, 0});
  CHECK(got.makespan == 0);
  CHECK(got.bubble_fraction() == 0.0);
}

TEST_CASE("Times for the wrong number of stages are our bug") {
  CHECK_THROWS_AS(replay(make("1f1b", 3, 1, 2), {{{1, 1, 0, 0}, {1, 1, 0, 0}}, {}, 0, 0}), InternalError);
}

TEST_CASE("A timeline fits the columns it is given") {
  const Schedule s = make("1f1b", 2, 1, 3);
  const Replay r = replay(s, {{{1, 2, 0, 0}}, {}, 0, 0});
  CHECK(timeline(s, r) == "1f1b: 2 ranks, 3 micro-batches; makespan 12, bubble 25.0 %, one column = 1\n"
                          "r0 01..aa2bb.cc\n"
                          "r1 .0aa1bb2cc..\n");
  CHECK(timeline(s, r, 6) == "1f1b: 2 ranks, 3 micro-batches; makespan 12, bubble 25.0 %, one column = 2\n"
                             "r0 1.ab.c\n"
                             "r1 0ab2c.\n");
}
