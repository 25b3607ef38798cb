// The executed pipeline computes one and the same training step, whatever the plan: equal losses and gradients over
// plans, gradients as finite differences have them, a loss that falls, orders as published.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <string>

#include "calib/loop/execute.h"
#include "calib/loop/order.h"
#include "calib/loop/plan.h"
#include "calib/loop/stage.h"
#include "sim/base/error.h"
#include "tests/support/loop_plans.h"

using namespace tessella;
using namespace tessella::calib;

namespace {

// A quarter of the size, so that tests take milliseconds.
LoopModel tiny() {
  LoopModel m;
  m.hidden = 32;
  m.head_dim = 16;
  m.expert_ffn = 32;
  m.vocab = 64;
  return m;
}

std::string text(const std::vector<Action>& actions) {
  std::string line;
  for (const Action& a : actions) line += fmt::format("{}{}", line.empty() ? "" : " ", to_text(a));
  return line;
}

} // namespace

TEST_CASE("Orders are the published ones") {
  const auto order = order_of(plan_of("1f1b", 2, 1, 4, {2, 2}));
  CHECK(text(order[0]) == "0F0 0F1 0B0 0F2 0B1 0F3 0B2 0B3");
  CHECK(text(order[1]) == "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3");
  const auto interleaved = order_of(plan_of("interleaved_1f1b", 2, 1, 4, {1, 1, 1, 1}));
  CHECK(text(interleaved[0]) == "0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3");
  CHECK(text(interleaved[1]) == "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3");
  CHECK(text(order_of(plan_of("gpipe", 2, 1, 2, {2, 2}))[0]) == "0F0 0F1 0B0 0B1");
  CHECK_THROWS_AS(order_of(plan_of("interleaved_1f1b", 2, 1, 3, {1, 1, 1, 1})), InputError);
  CHECK_THROWS_AS(order_of(plan_of("zb_h1", 2, 1, 3, {2, 2})), InputError);
  CHECK_THROWS_AS(order_of(plan_of("1f1b", 2, 1, 4, {1, 1, 1, 1})), InputError);
}

TEST_CASE("Forced routing gives every EP rank its share, and no token an expert twice") {
  const LoopModel m = tiny();
  LoopPlan p = plan_of("1f1b", 1, 2, 1, {4});
  CHECK(received_rows(m, p) == std::vector<std::int64_t>{256, 256});
  p.loads = {1.5, 0.5};
  CHECK(received_rows(m, p) == std::vector<std::int64_t>{384, 128});
  const auto experts = forced_experts(m, p);
  std::vector<std::int64_t> rows(4, 0);
  for (std::size_t t = 0; t < experts.size(); t += 2) {
    CHECK(experts[t] != experts[t + 1]);
    ++rows[static_cast<std::size_t>(experts[t])];
    ++rows[static_cast<std::size_t>(experts[t + 1])];
  }
  CHECK(rows == std::vector<std::int64_t>{96, 96, 32, 32});
  p.ep = 4;
  p.loads = {10.0, 1.0, 1.0, 1.0};
  CHECK_THROWS_AS(forced_experts(m, p), InputError);
}

TEST_CASE("Every pipeline plan computes the same step") {
  const LoopModel m = tiny();
  PlanExecution reference(m, plan_of("1f1b", 1, 1, 4, {4}));
  const auto expected = reference.run(0, 3, 3);
  for (const LoopPlan& plan : {plan_of("1f1b", 2, 1, 4, {2, 2}), plan_of("1f1b", 2, 1, 4, {1, 3}),
                               plan_of("gpipe", 2, 1, 4, {2, 2}), plan_of("interleaved_1f1b", 2, 1, 4, {1, 1, 1, 1})}) {
    PlanExecution execution(m, plan);
    const auto steps = execution.run(0, 3, 3);
    for (std::size_t i = 0; i < steps.size(); ++i) // the second and third follow updates of all weights
      CHECK_MESSAGE(steps[i].loss == doctest::Approx(expected[i].loss).epsilon(1e-5), plan.name);
    CHECK(execution.last_gradient_norm() == doctest::Approx(reference.last_gradient_norm()).epsilon(1e-4));
  }
}

TEST_CASE("Experts on two ranks, balanced or skewed, compute what one rank computes") {
  const LoopModel m = tiny();
  // Two ranks of a group see their own tokens: the same step as one rank with both micro-batches would need the same
  // data on one rank, so compare with pipelines of two ranks, and across pipeline depth.
  LoopPlan flat = plan_of("1f1b", 1, 2, 2, {4});
  LoopPlan deep = plan_of("1f1b", 2, 2, 2, {2, 2});
  for (const std::vector<double>& loads : {std::vector<double>{}, std::vector<double>{1.5, 0.5}}) {
    flat.loads = deep.loads = loads;
    PlanExecution a(m, flat);
    PlanExecution b(m, deep);
    const auto one = a.run(0, 2, 2);
    const auto two = b.run(0, 2, 2);
    for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i].loss == doctest::Approx(two[i].loss).epsilon(1e-5));
    CHECK(a.last_gradient_norm() == doctest::Approx(b.last_gradient_norm()).epsilon(1e-4));
  }
}

TEST_CASE("Gradients are those of finite differences") {
  const LoopModel m = tiny();
  const LoopPlan plan = plan_of("1f1b", 1, 1, 1, {2});
  PipelineStage stage(m, plan, 0, 0);
  const MicroBatchData data = make_data(m, 0, 0);
  const std::vector<std::int32_t> forced = forced_experts(m, plan);
  Recorder recorder;
  LayerRuntime rt;
  const RopeTable rope(m.seq, m.head_dim);
  rt.model = &m;
  rt.rope = &rope;
  rt.recorder = &recorder;
  rt.forced = forced;
  Tensor out;
  StageContext context;
  const auto loss = [&] { return *stage.forward(nullptr, data, out, context, rt); };
  loss();
  Tensor din;
  stage.backward(nullptr, 1.0 / static_cast<double>(m.seq), data, din, context, rt);
  std::uint64_t pick = 12345;
  for (Parameter* p : stage.parameters()) {
    // The direction of the gradient itself: its slope is |g|, the largest there is, so rounding matters least.
    const double norm = std::sqrt(squared_norm(p->grad.values()));
    const Tensor before = p->value;
    const double step = 2e-2 / norm * std::sqrt(squared_norm(before.values())) * 0.1;
    const auto moved = [&](double by) {
      for (std::int64_t i = 0; i < before.size(); ++i)
        p->value.data()[i] = before.data()[i] + static_cast<float>(by / norm) * p->grad.data()[i];
      return loss();
    };
    const double slope = (moved(step) - moved(-step)) / (2.0 * step);
    p->value = before;
    CHECK_MESSAGE(slope == doctest::Approx(norm).epsilon(0.03), "parameter of ", before.size());
    pick = pick * 6364136223846793005ULL + 1;
  }
}

TEST_CASE("The loss falls: it is training, not just work") {
  const LoopModel m = tiny();
  PlanExecution execution(m, plan_of("1f1b", 2, 1, 2, {2, 2}));
  const auto steps = execution.run(0, 30, 30);
  CHECK(steps.front().loss == doctest::Approx(std::log(64.0)).epsilon(0.15)); // nothing is known at first
  CHECK(steps.back().loss < 0.9 * steps.front().loss);
}
