// Tasks of a pair, Megatron's order of them, and what is wrong with other orders.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/exec/pair_order.h"

using namespace tessella;

namespace {

const PairPasses kFB{ActionKind::F, ActionKind::B};

PieceOps::Item item(Role role, OpClass cls, std::int64_t ps) {
  PieceOps::Item i{{}, role};
  i.op.cls = cls;
  i.op.duration = {ps};
  return i;
}

PieceOps moe_layer() {
  PieceOps p;
  p.forward = {item(Role::attention, OpClass::compute, 1), item(Role::attention, OpClass::tp, 2),
               item(Role::dispatch, OpClass::ep, 3),       item(Role::experts, OpClass::compute, 4),
               item(Role::combine, OpClass::ep, 5),        item(Role::combine, OpClass::compute, 6)};
  p.backward = {item(Role::combine, OpClass::ep, 7), item(Role::experts, OpClass::compute, 8),
                item(Role::dispatch, OpClass::ep, 9), item(Role::attention, OpClass::compute, 10)};
  p.wgrad = {item(Role::wgrad_experts, OpClass::compute, 11), item(Role::wgrad_attention, OpClass::compute, 12)};
  return p;
}

PieceOps head() {
  PieceOps p;
  p.kind = PieceKind::head;
  p.forward = {item(Role::attention, OpClass::compute, 20)};
  p.backward = {item(Role::attention, OpClass::compute, 21)};
  p.wgrad = {item(Role::wgrad_attention, OpClass::compute, 22)};
  return p;
}

std::string names(const std::vector<TaskId>& tasks, const PairPasses& passes) {
  std::string text;
  for (const TaskId& id : tasks) {
    if (!text.empty()) text += ' ';
    text += to_text(id, passes);
  }
  return text;
}

std::string chain_text(const PairTasks& pair) {
  std::string text;
  for (const PairTask& t : pair.tasks) {
    text += to_text(t.id, pair.passes);
    if (t.movable) text += '*';
    if (t.after) text.append("<").append(to_text(pair.tasks[*t.after].id, pair.passes));
    text += ' ';
  }
  return text;
}

PairTasks two_layers(bool delay) {
  return pair_tasks(std::vector{moe_layer(), moe_layer()}, std::vector{moe_layer(), moe_layer()}, kFB, delay);
}

} // namespace

TEST_CASE("Ops of one part and lane are one task; weight gradients are movable when delayed") {
  const PairTasks pair = pair_tasks(std::vector{moe_layer()}, std::vector{moe_layer(), head()}, kFB, true);
  CHECK(chain_text(pair) == "F_ATTN.0 F_DISP.0<F_ATTN.0 F_MLP.0<F_DISP.0 F_COMB.0<F_MLP.0 F_JOIN.0<F_COMB.0 "
                            "B_HEAD.1 B_WGRAD_HEAD.1*<B_HEAD.1 B_COMB.0<B_HEAD.1 B_MLP.0<B_COMB.0 "
                            "B_WGRAD_MLP.0*<B_MLP.0 B_DISP.0<B_MLP.0 B_ATTN.0<B_DISP.0 B_WGRAD_ATTN.0*<B_ATTN.0 ");
  CHECK(pair.ops[0].size() == 2); // attention and the TP collective in it
  CHECK(pair.tasks[1].lane == OpLane::ep);
  CHECK(pair.ops[5].front().half == 1);
}

TEST_CASE("Undelayed weight gradients stand in the chain") {
  const PairTasks pair = pair_tasks(std::vector{head()}, std::vector{moe_layer()}, kFB, false);
  CHECK(chain_text(pair) == "F_HEAD.0 B_COMB.0 B_MLP.0<B_COMB.0 B_WGRAD_MLP.0<B_MLP.0 B_DISP.0<B_WGRAD_MLP.0 "
                            "B_ATTN.0<B_DISP.0 B_WGRAD_ATTN.0<B_ATTN.0 ");
}

TEST_CASE("A layer that is recomputed whole runs through its parts twice") {
  PieceOps layer = moe_layer();
  layer.backward.insert(layer.backward.begin(), layer.forward.begin(), layer.forward.end());
  const PairTasks pair = pair_tasks({}, std::vector{layer}, kFB, true);
  CHECK(chain_text(pair) == "B_ATTN.0 B_DISP.0<B_ATTN.0 B_MLP.0<B_DISP.0 B_COMB.0<B_MLP.0 B_JOIN.0<B_COMB.0 "
                            "B_COMB.0'<B_JOIN.0 B_MLP.0'<B_COMB.0' B_WGRAD_MLP.0*<B_MLP.0' B_DISP.0'<B_MLP.0' "
                            "B_ATTN.0'<B_DISP.0' B_WGRAD_ATTN.0*<B_ATTN.0' ");
  CHECK_FALSE(order_problem(pair.tasks, megatron_order(pair.tasks, kFB)).has_value());
}

TEST_CASE("Megatron's order of two layers beside two") {
  const PairTasks pair = two_layers(true);
  const PairPlan plan = megatron_order(pair.tasks, kFB);
  CHECK(names(plan.ep, kFB) == "B_COMB.1 F_DISP.0 B_DISP.1 F_COMB.0 B_COMB.0 F_DISP.1 B_DISP.0 F_COMB.1");
  CHECK(names(plan.compute, kFB) == "F_ATTN.0 B_MLP.1 B_WGRAD_MLP.1 F_MLP.0 B_ATTN.1 B_WGRAD_ATTN.1 "
                                    "F_JOIN.0 F_ATTN.1 B_MLP.0 B_WGRAD_MLP.0 F_MLP.1 B_ATTN.0 B_WGRAD_ATTN.0 F_JOIN.1");
}

TEST_CASE("Leftover layers follow, backward first; a backward in front is as good") {
  const PairTasks long_backward =
      pair_tasks(std::vector{moe_layer()}, std::vector{moe_layer(), moe_layer()}, kFB, true);
  CHECK(names(megatron_order(long_backward.tasks, kFB).ep, kFB) ==
        "B_COMB.1 F_DISP.0 B_DISP.1 F_COMB.0 B_COMB.0 B_DISP.0");
  const PairPasses bf{ActionKind::B, ActionKind::F};
  const PairTasks swapped = pair_tasks(std::vector{moe_layer()}, std::vector{moe_layer(), head()}, bf, true);
  CHECK(names(megatron_order(swapped.tasks, bf).compute, bf) ==
        "F_ATTN.0 B_MLP.0 B_WGRAD_MLP.0 F_MLP.0 B_ATTN.0 B_WGRAD_ATTN.0 F_JOIN.0 F_HEAD.1");
}

TEST_CASE("A template has every op once, each exchange right behind what it follows") {
  const PairTasks pair = two_layers(true);
  const Template t = lower_pair(pair, megatron_order(pair.tasks, kFB));
  CHECK(t.overlapped);
  CHECK(t.ops.size() == 2 * (6 + 6));
  std::vector<std::int64_t> durations;
  for (std::size_t i = 0; i < t.ops.size(); ++i) {
    durations.push_back(t.ops[i].duration.ps);
    for (std::size_t d = t.ops[i].first_dep; d < t.ops[i].first_dep + std::size_t{t.ops[i].num_deps}; ++d)
      CHECK(t.deps[d] < i);
  }
  // B_COMB leads; F_ATTN of two ops, then the dispatch that waited for them, then B's experts and its dispatch.
  CHECK(std::vector(durations.begin(), durations.begin() + 7) == std::vector<std::int64_t>{7, 1, 2, 3, 8, 9, 11});
}

TEST_CASE("Orders that cannot run are refused with the reason") {
  const PairTasks pair = two_layers(true);
  const PairPlan good = megatron_order(pair.tasks, kFB);
  CHECK_FALSE(order_problem(pair.tasks, good).has_value());
  const auto task = [](const char* name) { return *parse_task(name, kFB); };

  PairPlan plan = good;
  plan.compute[0] = task("F_ATTN.7");
  CHECK(order_problem(pair.tasks, plan)->message ==
        "task F_ATTN.7 does not exist in this pair; did you mean 'F_ATTN.0'?");
  CHECK(order_problem(pair.tasks, plan)->lane == OpLane::compute);
  CHECK(order_problem(pair.tasks, plan)->task == 0U);
  plan = good;
  std::swap(plan.compute[0], plan.ep[0]);
  CHECK(order_problem(pair.tasks, plan)->message == "task B_COMB.1 runs on the ep lane");
  plan = good;
  plan.compute.push_back(task("F_JOIN.1"));
  CHECK(order_problem(pair.tasks, plan)->message == "task F_JOIN.1 occurs twice");
  plan = good;
  plan.ep.pop_back();
  CHECK(order_problem(pair.tasks, plan)->message == "task F_COMB.1 is missing");
  plan = good;
  std::swap(plan.ep[0], plan.ep[2]); // B_DISP.1 before B_COMB.1, on which it depends through B_MLP.1
  CHECK(order_problem(pair.tasks, plan)->message ==
        "the lanes wait for each other: B_MLP.1 waits for B_COMB.1; B_DISP.1 waits for B_MLP.1");
  plan = good;
  std::swap(plan.compute[0], plan.compute[13]);
  CHECK(order_problem(pair.tasks, plan)->message.starts_with("the lanes wait for each other"));
}

TEST_CASE("Compute slows the exchanges of its pair, for as long as there is compute") {
  const auto layer_with = [](std::int64_t exchange) {
    PieceOps p = moe_layer();
    for (auto* items : {&p.forward, &p.backward})
      for (PieceOps::Item& i : *items)
        if (i.op.cls == OpClass::ep) {
          i.op.duration = {exchange};
          i.op.beside_compute = Pace::slowed_by(1.25);
        }
    return p;
  };
  const auto slowdown = [&](std::int64_t exchange) {
    const PairTasks pair = pair_tasks(std::vector{layer_with(exchange)}, std::vector{layer_with(exchange)}, kFB, true);
    for (const std::vector<Op>& ops : pair.ops)
      if (ops.front().lane == OpLane::ep) return ops.front().beside_compute.slowdown();
    return 0.0;
  };
  // The pair computes for 13 + 41 = 54.
  CHECK(slowdown(10) == 1.25);
  // Four exchanges of 54: 43.2 of their 216 pass in the 54 beside compute, the rest at full speed.
  CHECK(slowdown(54) == doctest::Approx((54.0 + 216.0 - 43.2) / 216.0).epsilon(1e-5));
}
