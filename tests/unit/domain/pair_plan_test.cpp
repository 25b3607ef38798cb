#include <doctest/doctest.h>

#include <string>

#include "sim/base/error.h"
#include "sim/domain/pair_plan.h"

using namespace tessella;

namespace {

const PairPasses kFB{ActionKind::F, ActionKind::B};
const PairPasses kBB{ActionKind::B, ActionKind::B};

std::string refusal(const std::string& text) {
  try {
    parse_pair_plan(text, "order.yaml");
  } catch (const InputError& error) {
    return format_error(error);
  }
  return "accepted";
}

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

TEST_CASE("An order has one text form, which reads back") {
  PairPlan plan;
  plan.compute = {{0, false, TaskPart::attention, 0, 0}, {1, false, TaskPart::experts, 0, 0}};
  plan.ep = {{1, false, TaskPart::combine, 0, 0}};
  CHECK(to_text(plan) == "passes: [F, B]\ncompute: [F_ATTN.0, B_MLP.0]\nep: [B_COMB.0]\n");
  CHECK(parse_pair_plan(to_text(plan), "order.yaml") == plan);
  for (std::int32_t i = 1; i < 60; ++i) plan.compute.push_back({0, false, TaskPart::attention, i, 0});
  CHECK(parse_pair_plan(to_text(plan), "order.yaml") == plan);
  CHECK(parse_pair_plan(to_text(PairPlan{}), "order.yaml") == PairPlan{});
}

TEST_CASE("Lists may be written as people write YAML") {
  const PairPlan plan = parse_pair_plan("# ours\n"
                                        "passes: [F, B]   # forward, backward\n"
                                        "ep:\n"
                                        "  - B_COMB.0\n"
                                        "  - F_DISP.0\n"
                                        "compute: [F_ATTN.0,\n"
                                        "          B_MLP.0]\n",
                                        "order.yaml");
  CHECK(to_text(plan) == "passes: [F, B]\ncompute: [F_ATTN.0, B_MLP.0]\nep: [B_COMB.0, F_DISP.0]\n");
}

TEST_CASE("What is wrong is said with its place") {
  CHECK(refusal("passes: [F, B]\ncompute: [F_ATTN.0, F_ATN.1]\nep: []\n")
            .starts_with("order.yaml:2:21: error: 'F_ATN.1' is not the name of a task"));
  CHECK(refusal("passes: [F, B]\ncompte: []\n").find("did you mean 'compute'") != std::string::npos);
  CHECK(refusal("passes: [F, B]\ncompute: []\ncompute: []\n").find("occurs twice") != std::string::npos);
  CHECK(refusal("passes: [F, W]\ncompute: []\nep: []\n").find("two of F and B") != std::string::npos);
  CHECK(refusal("passes: [F]\ncompute: []\nep: []\n").find("two of F and B") != std::string::npos);
  CHECK(refusal("passes: [F, B]\ncompute: []\n").find("needs the key 'ep'") != std::string::npos);
  CHECK(refusal("F_ATTN.0\n").find("one of the keys") != std::string::npos);
  CHECK(refusal("").find("needs the key") != std::string::npos);
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
