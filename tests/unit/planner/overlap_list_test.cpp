// The list schedulers and the timeline on pairs one can follow with a pencil.
#include <doctest/doctest.h>

#include <string>

#include "sim/planner/overlap/overlap.h"
#include "sim/planner/overlap/overlap_list.h"
#include "tests/support/pairs.h"

using namespace tessella;
using tessella::testing::PairBuilder;

namespace {

std::string lane_text(const PairProblem& p, const LaneOrders& order, OpLane lane) {
  std::string text;
  for (const std::size_t t : order[lane]) {
    if (!text.empty()) text += ' ';
    text += to_text(p.tasks[t].id, p.passes);
  }
  return text;
}

std::string compute_order(const PairProblem& p, ListRule rule) {
  return lane_text(p, list_schedule(p, rule), OpLane::compute);
}

std::int64_t makespan(const PairProblem& p, ListRule rule) {
  return run_order(p, list_schedule(p, rule)).makespan.ps;
}

} // namespace

TEST_CASE("A timeline: starts, ends, contention, and how much of the exchange is hidden") {
  // compute  F_ATTN 0..10 | B_MLP: 6 of exchange left beside it at slowdown 2 does 3 of 9, then 6 alone: 10..22
  // ep       B_COMB 0..10 | F_DISP 10..16
  const PairProblem p =
      PairBuilder().add("F_ATTN.0", 10).add("F_DISP.0", 6).add("B_COMB.0", 10).add("B_MLP.0", 9, 2.0).problem;
  const PairTimeline t = run_order(p, list_schedule(p, ListRule::fifo));
  CHECK(t.start == std::vector<Time>{{0}, {10}, {0}, {10}});
  CHECK(t.end == std::vector<Time>{{10}, {16}, {10}, {22}});
  CHECK(t.makespan.ps == 22);
  CHECK(t.ep_busy.ps == 16);
  CHECK(t.ep_hidden.ps == 16);
}

TEST_CASE("fifo takes what became ready first, align the backbone") {
  // At 4 the weight gradient of 5 is ready and so is B_HEAD.0; F_MLP.0 comes at 6, after its exchange.
  const PairProblem p = PairBuilder()
                            .add("F_DISP.0", 6)
                            .add("F_MLP.0", 3)
                            .add("B_MLP.1", 4)
                            .movable("B_WGRAD_MLP.1", 5)
                            .add("B_HEAD.0", 2)
                            .problem;
  CHECK(compute_order(p, ListRule::fifo) == "B_MLP.1 B_WGRAD_MLP.1 B_HEAD.0 F_MLP.0");
  CHECK(compute_order(p, ListRule::align) == "B_MLP.1 B_HEAD.0 F_MLP.0 B_WGRAD_MLP.1");
}

TEST_CASE("align fits the gap that the other lane leaves") {
  // While the exchange of 8 runs, both a task of 8 and one of 3 are ready: the one of 8 fits.
  const PairProblem p = PairBuilder({ActionKind::F, ActionKind::F})
                            .add("F_EMB.0", 1)
                            .add("F_DISP.1", 8)
                            .add("F_MLP.1", 1)
                            .add("F2_ATTN.0", 8)
                            .problem;
  const PairProblem shorter = [&] {
    PairProblem q = p;
    q.ops[3].front().work = Duration{3};
    return q;
  }();
  // With nothing on the other lane the longest chain goes first: F_EMB.0 (10) before F2_ATTN.0 (8).
  CHECK(compute_order(p, ListRule::align) == "F_EMB.0 F2_ATTN.0 F_MLP.1");
  CHECK(makespan(p, ListRule::align) == 10);
  CHECK(makespan(shorter, ListRule::align) == 10);
}

TEST_CASE("defer holds back a weight gradient that would delay the backbone, and fills it into a gap") {
  // ep       F_DISP 0..4 |           F_COMB 14..34
  // compute  B_MLP 0..2, then 2 idle until F_MLP at 4. The weight gradient of 9 would hold it up until 11.
  const PairProblem p = PairBuilder()
                            .add("F_DISP.0", 4)
                            .add("F_MLP.0", 10)
                            .add("F_COMB.0", 20)
                            .add("F_JOIN.0", 1)
                            .add("B_MLP.0", 2)
                            .movable("B_WGRAD_MLP.0", 9)
                            .problem;
  CHECK(makespan(p, ListRule::align) == 2 + 9 + 10 + 20 + 1);
  CHECK(makespan(p, ListRule::align_defer) == 4 + 10 + 20 + 1);
  CHECK(compute_order(p, ListRule::align_defer) == "B_MLP.0 F_MLP.0 B_WGRAD_MLP.0 F_JOIN.0");
  CHECK(schedule_pair(p, OverlapMethod::exact).post_overlap.ps == 35);
}

TEST_CASE("defer lets a weight gradient run where compute must be busy anyway") {
  // 40 more of compute than any chain needs: nothing is gained by waiting.
  const PairProblem p = PairBuilder()
                            .add("F_DISP.0", 4)
                            .add("F_MLP.0", 10)
                            .add("B_MLP.0", 2)
                            .movable("B_WGRAD_MLP.0", 9)
                            .add("B_HEAD.0", 1)
                            .movable("B_WGRAD_HEAD.0", 40)
                            .problem;
  CHECK(makespan(p, ListRule::align_defer) == 62);
  CHECK(schedule_pair(p, OverlapMethod::align_defer).proven); // the compute lane is never idle
}

TEST_CASE("Results of one pair: bound, shares and order belong together") {
  const PairProblem p =
      PairBuilder().add("F_ATTN.0", 10).add("F_DISP.0", 6).add("B_COMB.0", 10).add("B_MLP.0", 9).problem;
  const PairResult r = schedule_pair(p, OverlapMethod::exact);
  CHECK(r.serial.ps == 35);
  CHECK(r.post_overlap.ps == 19);
  CHECK(r.proven);
  CHECK(r.tasks.size() == 4);
  CHECK(r.plan == pair_plan(p, lane_orders(p, r.plan)));
}

TEST_CASE("Method names read back") {
  for (const OverlapMethod m : kOverlapMethods) CHECK(parse_overlap_method(name(m)) == m);
  CHECK_FALSE(parse_overlap_method("best").has_value());
  CHECK_FALSE(applies(OverlapMethod::megatron, {ActionKind::F, ActionKind::F}));
}

TEST_CASE("An empty pair costs nothing, one chunk alone its serial time") {
  CHECK(schedule_pair(PairProblem{}, OverlapMethod::exact).post_overlap.ps == 0);
  const PairProblem p = PairBuilder().add("F_ATTN.0", 10).add("F_DISP.0", 6).add("F_MLP.0", 4).problem;
  for (const OverlapMethod m : kOverlapMethods) CHECK(schedule_pair(p, m).post_overlap.ps == 20);
}
