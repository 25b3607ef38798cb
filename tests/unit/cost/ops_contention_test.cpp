// The three mechanisms one by one, and together in the conditions of the public DeepSeek-V3 trace (H800, 132 SMs, 20
// held by communication; layer_costs, section 12.5): the measured factors are bands, not constants.
#include <doctest/doctest.h>

#include "sim/cost/contention.h"
#include "tests/unit/cost/ops_support.h"

using namespace tessella;
using namespace tessella::test;

TEST_CASE("(a) SM partition") {
  CHECK(sm_persistent_factor(132, 20) == doctest::Approx(1.179).epsilon(1e-3));
  CHECK(sm_persistent_factor(132, 0) == 1.0);
  CHECK(sm_waves_factor(132, 132, 24) == 2.0); // one wave becomes two: the user report of section 11.1
  CHECK(sm_waves_factor(108, 132, 24) == 1.0); // there was room
  CHECK(sm_waves_factor(1320, 132, 20) == doctest::Approx(1.2));
  CHECK(sm_waves_factor(0, 132, 20) == 1.0);
  double last = 1.0;
  for (std::int64_t held = 0; held < 132; ++held) {
    CHECK(sm_waves_factor(1000, 132, held) >= last);
    last = sm_waves_factor(1000, 132, held);
  }
}

TEST_CASE("(b) HBM: demands share the capacity") {
  CHECK(hbm_factor(1e12, 1e12, 3e12) == 1.0);
  CHECK(hbm_factor(3e12, 0.0, 3e12) == 1.0);
  CHECK(hbm_factor(3e12, 0.3e12, 3e12) == doctest::Approx(1.1));
  CHECK(hbm_factor(2e12, 2e12, 3e12) == doctest::Approx(4.0 / 3.0));
}

TEST_CASE("(c) a collective needs SMs for its rate") {
  CHECK(link_rate_share(24, 24) == 1.0);
  CHECK(link_rate_share(64, 24) == 1.0);
  CHECK(link_rate_share(12, 24) == 0.5);
  CHECK(link_rate_share(0, 24) == 0.0);
}

TEST_CASE("the trace's conditions give the trace's bands") {
  // Dispatch and combine of 32,768 rows of 7,168: 0.70 GB delivered in 10.3 ms of data movement, three passes of HBM.
  const double rate = kHbmPassesPerByte * 32768.0 * 7168 * 3 / 10.3e-3;
  const ContentionModel trace{132, 3.05e12, {20, rate}, {}};
  const double cast = 3.05e12; // streams at what the HBM gives
  CHECK(trace.streaming(cast).moving >= 1.04);
  CHECK(trace.streaming(cast).moving <= 1.22);
  CHECK(trace.streaming(cast).waiting <= 1.08);
  const double layer_norm = 2 * 4096.0 * 7168 * 2 * 2 / 105e-6; // x and residual in, sum and norm out, in 105 us
  CHECK(trace.norm(layer_norm).moving >= 1.48);
  CHECK(trace.norm(layer_norm).moving <= 1.74);
  CHECK(trace.norm(layer_norm).waiting <= 1.08);
  // A 112-CTA GEMM leaves the neighbour its SMs: nothing but HBM can slow it.
  const double o_proj = (4096.0 * 16384 + 16384.0 * 7168 + 2 * 4096.0 * 7168) / 885e-6;
  CHECK(trace.tensor(1.0, o_proj).moving <= 1.07);
  CHECK(trace.tensor(1.0, o_proj).waiting == 1.0);
}

TEST_CASE("measured factors replace the HBM mechanism, on top of the SMs held") {
  const ContentionModel m{132, 3e12, {20, 1e12}, ContentionModel::Measured{1.05, 1.14, 1.65, 1.08}};
  CHECK(m.tensor(1.18, 1e12) == Contention{1.18, 1.18 * 1.05});
  CHECK(m.streaming(3e12) == Contention{1.08, 1.14});
  CHECK(m.norm(3e12) == Contention{1.08, 1.65});
}

TEST_CASE("ops carry the time-weighted mean of their kernels; without EP nothing slows") {
  Scenario s = deepseek_tp1_ep64();
  for (ProfileEntry& e : s.profile.entries) {
    if (e.op == "dispatch_deepep") e.params.push_back({"sms", 20.0});
    if (e.form == "gemm_tiles" || e.form == "grouped_gemm_tiles")
      for (auto& [key, value] : e.params)
        if (key == "sms") value = 132.0;
  }
  const OpChain chain = make_model_ops(s).kinds[0];
  for (const std::vector<OpCost>* ops : {&chain.forward, &chain.backward, &chain.wgrad})
    for (const OpCost& op : *ops) {
      CAPTURE(op.name);
      if (op.cls != OpClass::compute) {
        CHECK(op.contention == Contention{1.0, 1.0});
        continue;
      }
      double waiting = 0.0;
      double moving = 0.0;
      for (const OpDetail& d : op.details) {
        waiting += d.contention.waiting * static_cast<double>(d.duration.ps);
        moving += d.contention.moving * static_cast<double>(d.duration.ps);
        CHECK(d.contention.waiting >= 1.0);
        CHECK(d.contention.moving >= d.contention.waiting);
      }
      CHECK(op.contention.waiting == doctest::Approx(waiting / static_cast<double>(op.duration.ps)));
      CHECK(op.contention.moving == doctest::Approx(moving / static_cast<double>(op.duration.ps)));
    }
  CHECK(chain.forward[2].contention.waiting > 1.1); // grouped GEMMs lose 20 of 132 SMs
  CHECK(chain.forward[4].hbm_bound == 1.0);         // the join streams

  CHECK(make_model_ops(s).exchange_beside_compute == 1.0);
  s.profile.entries.push_back(
      pencil_entry("contention", "contention",
                   {{"gemm", 1.05}, {"membound", 1.14}, {"norm", 1.65}, {"waiting", 1.08}, {"communication", 1.3}}));
  const ModelOps measured = make_model_ops(s);
  CHECK(measured.exchange_beside_compute == 1.3);
  CHECK(detail(measured.kinds[0].forward, "norm_1").contention == Contention{1.08, 1.65});

  const Scenario alone = pencil_scenario(deepseek_v3(), 64);
  const std::vector<OpCost> undisturbed = make_model_ops(alone).kinds[0].forward;
  for (const OpCost& op : undisturbed) CHECK(op.contention == Contention{1.0, 1.0});
}
