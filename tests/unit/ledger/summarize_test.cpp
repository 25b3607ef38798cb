// From sums to answers, with numbers a pencil can check.
#include <doctest/doctest.h>

#include "sim/base/check.h"
#include "sim/ledger/summarize.h"

using namespace tessella;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000'000;

// Two GPUs, one micro-batch each, 1,000 tokens a sequence, peak 100 TFLOP/s.
Scenario two_gpus() {
  Scenario s;
  s.parallelism.world_size = 2;
  s.batch = {1, 2, 1000};
  s.profile.gpu.bf16_peak = {100e12};
  return s;
}

RunRecords steps(std::vector<std::int64_t> seconds) {
  RunRecords r;
  for (const std::int64_t s : seconds) r.steps.push_back({Duration{s * kSecond}, {}, {}});
  r.sums.stage_forward = {Duration{4 * kSecond}};
  r.sums.stage_backward = {Duration{8 * kSecond}};
  return r;
}

} // namespace

TEST_CASE("Throughput and MFU of one step") {
  const RunResult r = summarize(two_gpus(), steps({4}), {Flops{80e12}, Flops{120e12}}, {});
  CHECK(r.step_time.ps == 4 * kSecond);
  CHECK(r.tokens_per_s_per_gpu == 250.0);           // 2 * 1000 / 4 / 2
  CHECK(r.tflops_per_gpu == doctest::Approx(10.0)); // 80 / 4 / 2
  CHECK(r.mfu == doctest::Approx(0.10));
  CHECK(r.hfu == doctest::Approx(0.15));
  CHECK(r.stages[0].forward.ps == 2 * kSecond); // 4 s over 2 ranks * 1 micro-batch
  CHECK(r.stages[0].backward.ps == 4 * kSecond);
}

TEST_CASE("Mean and quantiles over steps interpolate between order statistics") {
  const RunResult r = summarize(two_gpus(), steps({5, 1, 3}), {}, {});
  CHECK(r.step_time.ps == 3 * kSecond);
  CHECK(r.step_time_p05.ps == 12 * kSecond / 10); // 1 + 0.05 * 2 * (3 - 1)
  CHECK(r.step_time_p95.ps == 48 * kSecond / 10);
}

TEST_CASE("Hidden communication is what moved and was not exposed") {
  RunRecords records = steps({4});
  records.sums.ep_moving = {10 * kSecond};
  records.steps[0].ledger_sum[Share::exposed_ep] = {4 * kSecond};
  CHECK(summarize(two_gpus(), records, {}, {}).ep_hidden_fraction == doctest::Approx(0.6));
  CHECK(summarize(two_gpus(), steps({4}), {}, {}).ep_hidden_fraction == 1.0); // nothing to hide
}

TEST_CASE("Provenance shares are fractions of busy time") {
  RunRecords records = steps({4});
  records.sums.busy_by_provenance = {Duration{1}, Duration{3}, Duration{0}, Duration{4}};
  const RunResult r = summarize(two_gpus(), records, {}, {});
  CHECK(r.provenance == ProvenanceShares{0.125, 0.375, 0.0, 0.5});
}

TEST_CASE("No peak, no MFU; no step, our bug") {
  Scenario s = two_gpus();
  s.profile.gpu.bf16_peak = {};
  CHECK(summarize(s, steps({4}), {Flops{1.0}, Flops{1.0}}, {}).mfu == 0.0);
  CHECK_THROWS_AS(summarize(s, {}, {}, {}), InternalError);
}
