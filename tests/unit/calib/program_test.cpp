// What the loop on GPUs would run, without a GPU: the kernels that the host's loop runs, messages that match, nobody
// waiting for ever, and what of a transfer was waiting.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calib/loop/program.h"
#include "calib/loop/shapes.h"
#include "sim/base/error.h"
#include "tests/support/loop_plans.h"

using namespace tessella;
using namespace tessella::calib;

namespace {

std::vector<LoopPlan> plans() {
  LoopPlan uneven = plan_of("1f1b", 1, 2, 2, {4});
  uneven.loads = {1.5, 0.5};
  return {plan_of("1f1b", 2, 1, 4, {2, 2}),
          plan_of("1f1b", 4, 2, 8, {1, 1, 1, 1}),
          plan_of("gpipe", 2, 2, 3, {1, 3}),
          plan_of("interleaved_1f1b", 2, 1, 4, {1, 1, 1, 1}),
          plan_of("interleaved_1f1b", 4, 1, 8, {1, 0, 1, 0, 1, 0, 1, 0}),
          plan_of("interleaved_1f1b", 2, 2, 6, {1, 1, 1, 1}),
          uneven};
}

// op -> how often, over all ranks; sorting of received rows is a kernel of its own on the host, a permutation on GPUs.
std::map<std::string, double> counts(const std::vector<LoopShape>& shapes) {
  std::map<std::string, double> n;
  for (const LoopShape& s : shapes)
    if (s.shape.ranks == 1) n[s.shape.op] += s.count;
  return n;
}

} // namespace

TEST_CASE("A program runs the kernels of the host's loop, as often") {
  const LoopModel m;
  for (const LoopPlan& plan : plans()) {
    CAPTURE(fmt::format("{} pp {} ep {}", plan.name, plan.pp, plan.ep));
    CHECK(counts(program_shapes(m, {plan})) == counts(loop_shapes(m, {plan})));
  }
}

TEST_CASE("Every message is received, in order, in every schedule, and no rank waits for ever") {
  const LoopModel m;
  for (const LoopPlan& plan : plans()) {
    const LoopProgram program = program_of(m, plan); // plays it
    std::int64_t sends = 0;
    for (const auto& steps : program.ranks)
      sends += std::count_if(steps.begin(), steps.end(), [](const auto& s) { return s.kind == StepKind::send; });
    CHECK(sends == 2 * (plan.stages() - 1) * plan.micro_batches * plan.ep);
  }
}

TEST_CASE("What would hang or mix up messages is refused by name") {
  const LoopModel m;
  const LoopPlan plan = plan_of("1f1b", 2, 1, 3, {2, 2});
  const auto find = [](std::vector<ProgramStep>& steps, StepKind kind, std::size_t from = 0) {
    return std::find_if(steps.begin() + static_cast<std::ptrdiff_t>(from), steps.end(),
                        [kind](const ProgramStep& s) { return s.kind == kind; });
  };
  LoopProgram lost = program_of(m, plan);
  lost.ranks[0].erase(find(lost.ranks[0], StepKind::send));
  CHECK_THROWS_WITH_AS(check_progress(lost, "p"), doctest::Contains("rank 1 receives 0F1 where it expects 0F0"),
                       InputError);
  LoopProgram last = program_of(m, plan);
  const auto end = std::find_if(last.ranks[1].rbegin(), last.ranks[1].rend(),
                                [](const ProgramStep& s) { return s.kind == StepKind::send; });
  last.ranks[1].erase(std::next(end).base());
  CHECK_THROWS_WITH_AS(check_progress(last, "p"), doctest::Contains("rank 0 waits for ever in recv of 0B2"),
                       InputError);
  LoopProgram extra = program_of(m, plan);
  extra.ranks[0].push_back(*find(extra.ranks[0], StepKind::send));
  CHECK_THROWS_WITH_AS(check_progress(extra, "p"), doctest::Contains("nobody receives 0F0 from rank 0"), InputError);
  LoopProgram apart = program_of(m, plan_of("1f1b", 1, 2, 1, {1}));
  apart.ranks[1].erase(find(apart.ranks[1], StepKind::exchange));
  CHECK_THROWS_WITH_AS(check_progress(apart, "p"), doctest::Contains("rank 0 waits for ever in dispatch"), InputError);
}

TEST_CASE("Waiting for a message ends when its send begins, waiting for a group when its last rank comes") {
  LoopProgram program;
  program.channels = {{0, 1, ActionKind::F}};
  const auto step = [](StepKind kind, int ranks) {
    ProgramStep s;
    s.kind = kind;
    s.ranks = ranks;
    return s;
  };
  program.ranks = {{step(StepKind::send, 2), step(StepKind::exchange, 2)},
                   {step(StepKind::receive, 2), step(StepKind::exchange, 2)}};
  const auto event = [](double begin, double end) { return LoopEvent{"x", LoopLane::ep, {}, false, begin, 0.0, end}; };
  std::vector<std::vector<LoopEvent>> events = {{event(3.0, 5.0), event(5.0, 9.0)}, {event(1.0, 5.0), event(7.0, 9.0)}};
  settle_waits(program, events);
  CHECK(events[1][0].waited == doctest::Approx(2.0));
  CHECK(events[0][1].waited == doctest::Approx(2.0));
  CHECK(events[1][1].waited == doctest::Approx(0.0));
}
