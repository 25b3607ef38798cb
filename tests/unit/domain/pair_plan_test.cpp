#include <doctest/doctest.h>

#include <string>

#include "sim/domain/pair_plan.h"

using namespace tessella;

namespace {

const PairPasses kFB{ActionKind::F, ActionKind::B};
const PairPasses kBB{ActionKind::B, ActionKind::B};

} // namespace

TEST_CASE("Task names are Tessera's, with the piece of the stage") {
  CHECK(to_text(TaskId{0, false, TaskPart::attention, 3, 0}, kFB) == "F_ATTN.3");
  CHECK(to_text(TaskId{1, false, TaskPart::dispatch, 12, 0}, kFB) == "B_DISP.12");
  CHECK(to_text(TaskId{1, true, TaskPart::experts, 2, 0}, kFB) == "B_WGRAD_MLP.2");
  CHECK(to_text(TaskId{1, true, TaskPart::head, 4, 0}, kFB) == "B_WGRAD_HEAD.4");
  CHECK(to_text(TaskId{0, false, TaskPart::combine, 0, 0}, kBB) == "B_COMB.0");
  CHECK(to_text(TaskId{1, false, TaskPart::combine, 0, 0}, kBB) == "B2_COMB.0");
  CHECK(to_text(TaskId{1, false, TaskPart::attention, 1, 1}, kFB) == "B_ATTN.1'");
}

TEST_CASE("Names read back; nothing else is a name") {
  for (const PairPasses& passes : {kFB, kBB, PairPasses{ActionKind::F, ActionKind::F}})
    for (const std::uint8_t half : {std::uint8_t{0}, std::uint8_t{1}})
      for (const bool wgrad : {false, true})
        for (int part = 0; part < 8; ++part) {
          const TaskId id{half, wgrad, static_cast<TaskPart>(part), 10 + part, part % 2};
          CHECK(parse_task(to_text(id, passes), passes) == id);
        }
  for (const char* wrong :
       {"", "F", "F_", "F_ATTN", "F_ATTN.", "F_ATTN.x", "F_ATTN.-1", "F_ATTN.1x", "F_ATT.1", "W_ATTN.1", "F2_ATTN.1",
        "f_ATTN.1", "F_ATTN.99999999999", "F_WGRAD.1", "F_ATTN.'", " F_ATTN.1"})
    CHECK_FALSE(parse_task(wrong, kFB).has_value());
}

TEST_CASE("An order has one text form") {
  PairPlan plan;
  plan.compute = {{0, false, TaskPart::attention, 0, 0}, {1, false, TaskPart::experts, 0, 0}};
  plan.ep = {{1, false, TaskPart::combine, 0, 0}};
  CHECK(to_text(plan) == "passes: [F, B]\ncompute: [F_ATTN.0, B_MLP.0]\nep: [B_COMB.0]\n");
  CHECK(to_text(plan, "  ") == "  passes: [F, B]\n  compute: [F_ATTN.0, B_MLP.0]\n  ep: [B_COMB.0]\n");
  CHECK(to_text(PairPlan{}) == "passes: [F, B]\ncompute: []\nep: []\n");
}

TEST_CASE("Shares of an empty pair are defined") {
  const PairResult empty;
  CHECK(empty.overlap_gain() == 0.0);
  CHECK(empty.hidden_share() == 1.0);
  CHECK(empty.gap() == 0.0);
  PairResult r;
  r.serial = Duration{100};
  r.post_overlap = Duration{75};
  r.ep_busy = Duration{40};
  r.ep_hidden = Duration{10};
  r.lower_bound = Duration{60};
  CHECK(r.overlap_gain() == doctest::Approx(0.25));
  CHECK(r.hidden_share() == doctest::Approx(0.25));
  CHECK(r.gap() == doctest::Approx(0.25));
}
