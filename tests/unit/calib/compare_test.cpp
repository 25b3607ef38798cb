// Comparing executed with simulated steps, replaying two streams, and diffing profiles: small cases by hand.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "calib/compare/profile_diff.h"
#include "calib/loop/compare.h"
#include "calib/loop/two_streams.h"

using namespace tessella;
using namespace tessella::calib;

namespace {

Action act(int stage, ActionKind kind, int micro_batch) {
  return {Stage(stage), kind, MicroBatch(micro_batch)};
}

LoopEvent event(const char* op, LoopLane lane, const Action& a, double begin, double waited, double end) {
  return {op, lane, a, true, begin, waited, end};
}

// One rank: F0 1 ms, then B0 2 ms after waiting 0.5 ms for a message of which 0.1 ms was transfer.
ExecutedStep step(double seconds, double disturbed) {
  ExecutedStep s;
  s.seconds = seconds;
  s.disturbed = disturbed;
  const Action f = act(0, ActionKind::F, 0);
  const Action b = act(0, ActionKind::B, 0);
  s.events = {{event("qkv", LoopLane::compute, f, 0.0, 0.0, 0.6e-3),
               event("fc1", LoopLane::compute, f, 0.6e-3, 0.0, 1e-3),
               event("recv", LoopLane::p2p, b, 1e-3, 0.4e-3, 1.5e-3),
               event("fc1_dgrad", LoopLane::compute, b, 1.5e-3, 0.0, 3.5e-3)}};
  return s;
}

SimulatedStep simulated(double seconds, bool swapped) {
  SimulatedStep s;
  s.seconds = seconds;
  s.exposed_pp = 0.02;
  const auto op = [](const Action& a, double begin, double end) {
    SimulatedOp o;
    o.lane = "compute";
    o.name = fmt::format("{} x", to_text(a));
    o.action = a;
    o.in_action = true;
    o.begin = begin;
    o.end = end;
    return o;
  };
  const Action f = act(0, ActionKind::F, 0);
  const Action b = act(0, ActionKind::B, 0);
  s.ops = swapped ? std::vector{op(b, 0.0, 2e-3), op(f, 2e-3, 3e-3)}
                  : std::vector{op(f, 0.0, 1.1e-3), op(b, 1.5e-3, 3.4e-3)};
  return s;
}

LoopPlan one_rank() {
  LoopPlan p;
  p.layers = {1};
  return p;
}

ProfileEntry stream_entry(const std::string& op, double bandwidth, std::optional<Residual> residual) {
  return {op, "", "", "stream", {{"launch", 2e-6}, {"bandwidth", bandwidth}}, Provenance::measured, "s", residual};
}

} // namespace

TEST_CASE("Steps, stages, order and shares are compared on undisturbed steps") {
  const std::vector<ExecutedStep> steps = {step(4e-3, 0.0), step(9e-3, 5e-3), step(4.2e-3, 1e-6)};
  const Comparison c = compare(one_rank(), steps, simulated(4.51e-3, false));
  CHECK(c.step.n == 2);
  CHECK(c.step.median == doctest::Approx(4.1e-3));
  CHECK(c.disturbed == 1);
  CHECK(c.error == doctest::Approx(0.1));
  CHECK(c.same_order);
  REQUIRE(c.stages.size() == 2);
  CHECK(c.stages[0].measured == doctest::Approx(1e-3));
  CHECK(c.stages[0].simulated == doctest::Approx(1.1e-3));
  CHECK(c.stages[1].measured == doctest::Approx(2e-3)); // from the first kernel, not from the wait
  CHECK(c.measured_shares.exposed_pp == doctest::Approx((0.1 / 4.0 + 0.1 / 4.2) / 2.0));
  CHECK(c.measured_shares.bubble == doctest::Approx((0.4 / 4.0 + 0.4 / 4.2) / 2.0));
  CHECK(c.simulated_shares.exposed_pp == 0.02);
}

TEST_CASE("Another order is told with rank and action") {
  const Comparison c = compare(one_rank(), {step(4e-3, 0.0)}, simulated(4e-3, true));
  CHECK_FALSE(c.same_order);
  CHECK(c.order_difference == "rank 0, action 0: executed 0F0, simulated 0B0");
}

TEST_CASE("The side-by-side trace is JSON with both") {
  const auto trace = nlohmann::json::parse(side_by_side_trace(step(4e-3, 0.0), simulated(4e-3, false)));
  int measured = 0;
  int predicted = 0;
  for (const auto& e : trace.at("traceEvents")) {
    if (e.at("ph") == "X") ++(e.at("pid") == 0 ? measured : predicted);
  }
  CHECK(measured == 5); // four events, and the wait inside one of them
  CHECK(predicted == 2);
}

TEST_CASE("Pairs closer than the margin do not count for the ranking") {
  const auto plan = [](double measured, double predicted) {
    Comparison c;
    c.step.median = measured;
    c.simulated = predicted;
    return c;
  };
  const Ranking r = rank_pairs({plan(1.0, 1.0), plan(1.04, 0.9), plan(2.0, 1.9), plan(3.0, 1.8)}, 0.05);
  CHECK(r.pairs == 5); // all but the first two
  CHECK(r.wrong == 1); // the last two
}

TEST_CASE("Two streams by hand: progress, not durations") {
  // A alone takes 4 and doubles beside B, which takes 2: B ends at 2, A has done 1 of 4, ends at 2 + 3.
  const auto spans = replay({{"a", 0, 4.0, 2.0, {}}, {"b", 1, 2.0, 1.0, {}}});
  CHECK(spans[1].end == doctest::Approx(2.0));
  CHECK(spans[0].end == doctest::Approx(5.0));
  // A dependency across streams.
  const auto chain = replay({{"a", 0, 1.0, 1.0, {}}, {"b", 1, 1.0, 1.0, {0}}, {"c", 0, 1.0, 1.0, {1}}});
  CHECK(chain[2].begin == doctest::Approx(2.0));
  CHECK(makespan(chain) == doctest::Approx(3.0));
  CHECK_THROWS_AS(replay({{"a", 0, 1.0, 1.0, {1}}, {"b", 1, 1.0, 1.0, {0}}}), std::invalid_argument);
}

TEST_CASE("The layer pair of the published trace: 31.5 ms a layer from its measured durations") {
  // Per-layer means of DeepSeek-V3's DualPipe trace, communication with its notifications; four layers took 129.0 ms,
  // measured under contention, so factors are 1.
  const PairTimes times{4.37, 5.31, 5.07, 4.60, 9.34, 2.39, 5.77, 6.69, 7.49, 8.68};
  const PairTimes ones{1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const auto ops = layer_pair(times, ones);
  // Both streams are busy nearly throughout: 31.1 of compute, 28.6 of communication.
  const double span = makespan(replay(ops));
  CHECK(span >= 31.08);
  CHECK(span < 36.0);
}

TEST_CASE("A diff tells what moved beyond the noise of the fits") {
  Profile a;
  a.gpu.name = "h200_sxm";
  a.entries = {stream_entry("copy", 4e12, Residual{0.03, 0.1, 50}), stream_entry("norm_fwd", 3e12, std::nullopt),
               stream_entry("permute", 2e12, std::nullopt)};
  Profile b = a;
  b.entries[0] = stream_entry("copy", 3.9e12, Residual{0.03, 0.1, 50}); // 2.5 %: within noise
  b.entries[1] = stream_entry("norm_fwd", 2e12, std::nullopt);          // 50 % slower
  b.entries.erase(b.entries.begin() + 2);
  const ProfileDiff diff = diff_profiles(a, b);
  CHECK(diff.warnings.empty());
  std::vector<std::string> moved;
  for (const EntryDiff& e : diff.entries)
    if (e.beyond_noise) moved.push_back(fmt::format("{}: {}", e.entry, e.what));
  CHECK(moved == std::vector<std::string>{"norm_fwd: 1 MB", "norm_fwd: 256 MB", "permute: only in the first"});
  CHECK(diff_profiles(a, a).entries.empty());
  b.gpu.name = "h100_sxm";
  CHECK(diff_profiles(a, b).warnings.size() == 1);
}
