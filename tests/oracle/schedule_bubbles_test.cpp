// Published bubble and memory formulas where they are exact, and replayed counter-examples where they are not.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/schedule/replay.h"
#include "sim/schedule/table.h"

using namespace tessella;

namespace {

Replay play(const char* name, std::int32_t pp, std::int32_t vpp, std::int32_t m, const StageTimes& times,
            std::int64_t pair = 0) {
  ScheduleSpec spec;
  spec.name = name;
  ReplayTimes all{{times}, {}, 0, 0};
  if (pair > 0) all.pairs = {pair};
  return replay(make_schedule(spec, pp, vpp, m), all);
}

std::int64_t most_idle(const Replay& replay) {
  std::int64_t idle = 0;
  for (std::size_t r = 0; r < replay.ranks.size(); ++r) idle = std::max(idle, replay.idle(r));
  return idle;
}

std::int64_t idle_in_span(const Replay& replay) {
  std::int64_t idle = 0;
  for (const RankReplay& rank : replay.ranks) idle = std::max(idle, rank.idle_inside_span());
  return idle;
}

} // namespace

TEST_CASE("GPipe, 1F1B and the looped schedules idle (p-1)(F+B) of a chunk") {
  for (const std::int32_t p : {2, 3, 5, 8}) {
    const StageTimes t{3, 7, 0, 0};
    const std::int64_t bubble = (p - 1) * 10;
    CHECK(most_idle(play("gpipe", p, 1, 2 * p + 1, t)) == bubble);
    CHECK(most_idle(play("1f1b", p, 1, 2 * p + 1, t)) == bubble);
    CHECK(most_idle(play("interleaved_1f1b", p, 3, 2 * p, t)) == bubble);
    CHECK(most_idle(play("combined_1f1b", p, 3, 2 * p, t, 10)) == bubble);
    CHECK(most_idle(play("looped_bfs", p, 3, 2 * p + 1, t)) == bubble);
  }
}

TEST_CASE("Combined 1F1B without chunks keeps the bubble of 1F1B") {
  for (const std::int32_t p : {1, 2, 4, 8}) {
    CAPTURE(p);
    CHECK(most_idle(play("combined_1f1b", p, 1, 4 * p, {3, 7, 0, 0}, 10)) == (p - 1) * 10);
    CHECK(play("combined_1f1b", p, 1, 4 * p, {3, 7, 0, 0}, 10).ranks[0].peak_freed_at_w == 2 * p);
  }
}

TEST_CASE("DeepSeek-V3 on 4 ranks, 4 chunks each: rank 0 holds 19 chunks, one more with overlap") {
  const StageTimes t{1, 2, 0, 0};
  CHECK(play("interleaved_1f1b", 4, 4, 8, t).ranks[0].peak_freed_at_w == 2 * 3 + 3 * 4 + 1);
  CHECK(play("combined_1f1b", 4, 4, 8, t).ranks[0].peak_freed_at_w == 2 * 3 + 3 * 4 + 2);
}

TEST_CASE("ZB-H1 idles (p-1)(F+I-W), ZB-H2 (p-1)(F+I-2W) inside the span, for balanced times") {
  for (const std::int32_t p : {2, 4, 6}) {
    CHECK(most_idle(play("zb_h1", p, 1, 3 * p, {10, 0, 10, 10})) == (p - 1) * 10);
    CHECK(most_idle(play("zb_h1", p, 1, 3 * p, {10, 0, 11, 9})) == (p - 1) * 12);
    CHECK(idle_in_span(play("zb_h2", p, 1, 3 * p, {10, 0, 10, 10})) == 0);
    CHECK(idle_in_span(play("zb_h2", p, 1, 3 * p, {10, 0, 11, 9})) == (p - 1) * 3);
    CHECK(most_idle(play("zb_h2", p, 1, 3 * p, {10, 0, 10, 10})) == (p - 1) * 10); // the start skew stays
  }
  // Not for any triple: the formula gives 0 and 15 here.
  CHECK(most_idle(play("zb_h1", 4, 1, 8, {10, 0, 5, 15})) == 30);
  CHECK(most_idle(play("zb_h1", 4, 1, 8, {5, 0, 10, 10})) == 30);
}

TEST_CASE("ZB-V has no bubble inside the span for F = I = W, and one for 1, 2, 1") {
  for (const std::int32_t p : {2, 3, 4, 6}) CHECK(idle_in_span(play("zb_v", p, 2, 2 * p - 1, {1, 0, 1, 1})) == 0);
  const Replay unbalanced = play("zb_v", 4, 2, 12, {1, 0, 2, 1});
  for (std::size_t r = 0; r < 4; ++r) CHECK(unbalanced.ranks[r].idle_inside_span() == static_cast<std::int64_t>(6 - r));
}

TEST_CASE("DualPipe idles (p/2-1)(FB+B-3W) for F = I = W and FB <= F + B") {
  for (const std::int32_t p : {2, 4, 8})
    for (const std::int64_t pair : {20, 25, 30}) {
      CHECK(most_idle(play("dualpipe", p, 1, 4 * p, {10, 20, 10, 10}, pair)) == (p / 2 - 1) * (pair + 20 - 30));
      CHECK(most_idle(play("dualpipe_v", p, 2, 4 * p, {10, 20, 10, 10}, pair)) == (p - 1) * (pair + 20 - 30));
    }
}

TEST_CASE("The DualPipe formula is neither exact nor a bound for other times") {
  CHECK(most_idle(play("dualpipe", 4, 1, 8, {10, 10, 5, 5}, 12)) == 12);   // formula 7
  CHECK(most_idle(play("dualpipe", 4, 1, 8, {10, 40, 20, 20}, 40)) == 10); // formula 20
  CHECK(most_idle(play("dualpipe", 4, 1, 8, {20, 20, 12, 8}, 25)) == 29);  // formula 21
  CHECK(most_idle(play("dualpipe", 4, 1, 8, {10, 20, 15, 5}, 20)) == 20);  // formula 25
}

TEST_CASE("Chimera idles p-2 slots when F = B, and more when B = 2F") {
  for (const std::int32_t p : {2, 4, 8})
    for (const std::int32_t units : {1, 2, 3})
      CHECK(most_idle(play("chimera", p, 1, units * p, {1, 1, 0, 0})) == p - 2);
  CHECK(most_idle(play("chimera", 4, 1, 4, {1, 2, 0, 0})) == 4);
  CHECK(most_idle(play("chimera", 4, 1, 8, {1, 2, 0, 0})) == 6);
  CHECK(most_idle(play("chimera", 4, 1, 16, {1, 2, 0, 0})) == 10);
}

TEST_CASE("Sum of stages + (m-1) of the slowest does not bound 1F1B from above") {
  // By hand, m = 2: rank 1 may run B0 only behind F1, which ends at 9; its backwards end at 13 and 17, rank 0's at 18.
  // The formula says (5 + 5 + 2) + 5 = 17.
  const std::vector<StageTimes> stages = {{4, 1, 0, 0}, {1, 4, 0, 0}, {1, 1, 0, 0}};
  CHECK(replay(make_schedule(ScheduleSpec{}, 3, 1, 2), {stages, {}, 0, 0}).makespan == 18);
}

// Makespans of the authors' public scheduler for F = I = W = 1; ours must not be longer, nor hold more.
TEST_CASE("V-Half and V-Min are no longer than the authors' greedy, within the published peak") {
  struct Row {
    std::int32_t p, m;
    std::int64_t half, min;
  };
  for (const Row& row :
       {Row{2, 8, 49, 51}, Row{3, 6, 41, 41}, Row{3, 12, 77, 77}, Row{4, 8, 53, 59}, Row{4, 16, 101, 107},
        Row{5, 10, 71, 75}, Row{5, 20, 131, 135}, Row{6, 12, 83, 89}, Row{6, 24, 155, 161}, Row{8, 16, 113, 123},
        Row{8, 32, 209, 219}, Row{12, 24, 173, 185}, Row{4, 4, 34, 35}}) {
    CAPTURE(row.p);
    CAPTURE(row.m);
    const Replay half = play("v_half", row.p, 2, row.m, {1, 0, 1, 1});
    const Replay min = play("v_min", row.p, 2, row.m, {1, 0, 1, 1});
    CHECK(half.makespan <= row.half);
    CHECK(min.makespan <= row.min);
    for (const RankReplay& rank : half.ranks) CHECK(rank.peak_freed_at_w <= 2 * ((row.p + 2) / 2));
    for (const RankReplay& rank : min.ranks) CHECK(rank.peak_freed_at_w <= 2 * ((row.p + 4) / 3));
  }
}
