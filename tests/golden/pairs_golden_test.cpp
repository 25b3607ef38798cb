// What a pair looks like in a terminal: DeepSeek-V3's, in the order it ships, and two forwards.
#include <doctest/doctest.h>

#include "sim/planner/overlap/overlap.h"
#include "sim/report/pair_text.h"
#include "tests/support/dsv3_pair.h"
#include "tests/support/golden.h"

using namespace tessella;

TEST_CASE("DeepSeek-V3's pair as it ships") {
  const PairResult r = cost_of_order(testing::dsv3_pair(), testing::dsv3_shipped_order());
  testing::check_golden("tests/golden/pairs/dsv3.txt", pair_text(r, "shipped", {100, true}));
}

TEST_CASE("DeepSeek-V3's pair as it could be") {
  const PairResult r = schedule_pair(testing::dsv3_pair(), OverlapMethod::exact);
  testing::check_golden("tests/golden/pairs/dsv3_exact.txt", pair_text(r, "exact"));
}

TEST_CASE("Two forwards, and a pair of nothing") {
  const PairProblem p = testing::PairBuilder({ActionKind::F, ActionKind::F}, 1'000'000'000)
                            .add("F_ATTN.0", 3)
                            .add("F_DISP.0", 2)
                            .add("F_MLP.0", 4)
                            .add("F2_ATTN.0", 3)
                            .add("F2_MLP.0", 4)
                            .problem;
  testing::check_golden("tests/golden/pairs/two_forwards.txt",
                        pair_text(schedule_pair(p, OverlapMethod::align), "align", {60, false}) +
                            pair_text(PairResult{}, "fifo", {60, false}));
}
