#include <doctest/doctest.h>

#include <algorithm>

#include "sim/cost/flops.h"
#include "tests/support/model_yaml.h"

using namespace tessella;

namespace {

GroupedQueryAttention windowed(std::int64_t window) {
  GroupedQueryAttention a;
  a.heads = 2;
  a.kv_heads = 1;
  a.head_dim = 4;
  a.window = window;
  return a;
}

double core(const Attention& attention, std::int64_t seq, FlopsConvention c) {
  return layer_flops_per_token(8, {"x", attention, DenseFfn{}}, seq, c).attention_core;
}

Recompute selective(std::vector<RecomputeModule> modules) {
  return {RecomputeGranularity::selective, std::move(modules)};
}

} // namespace

TEST_CASE("a window counts the keys its queries see") {
  // W - W(W-1)/(2s) is exactly the mean of min(i, W) over i = 1..s.
  for (std::int64_t seq : {4, 9, 64})
    for (std::int64_t w = 1; w < seq; ++w) {
      std::int64_t keys = 0;
      for (std::int64_t i = 1; i <= seq; ++i) keys += std::min(i, w);
      const double expected = 6.0 * 2.0 * 8.0 * static_cast<double>(keys) / static_cast<double>(seq);
      CHECK(core(windowed(w), seq, FlopsConvention::causal) == doctest::Approx(expected).epsilon(1e-12));
      CHECK(core(windowed(w), seq, FlopsConvention::full_attention) == 6.0 * 2.0 * 8.0 * static_cast<double>(w));
    }
  GroupedQueryAttention open = windowed(1);
  open.window.reset();
  CHECK(core(windowed(64), 64, FlopsConvention::causal) == core(open, 64, FlopsConvention::causal));
  CHECK(core(windowed(99), 64, FlopsConvention::full_attention) == core(open, 64, FlopsConvention::full_attention));
  CHECK(2.0 * core(open, 64, FlopsConvention::causal) == core(open, 64, FlopsConvention::full_attention));
}

TEST_CASE("the older dense form: 72 B s L h^2 (1 + s / 6h + V / 12hL), not causal") {
  const Model gpt3 = test::public_model("gpt3_175b");
  const double h = 12288.0;
  const double layers = 96.0;
  const double expected = 72.0 * layers * h * h * (1.0 + 2048.0 / (6.0 * h) + 51200.0 / (12.0 * h * layers));
  const double got = model_flops_per_token(gpt3, 2048, FlopsConvention::full_attention).total();
  CHECK(got == doctest::Approx(expected).epsilon(1e-12));
  // With full recomputation the same paper counts a fourth pass over the layers: 96 B s L h^2 (1 + s / 6h + V / 16hL).
  const Recompute full{RecomputeGranularity::full, {}};
  const double hardware = hardware_flops(gpt3, Batch{1, 1, 2048}, FlopsConvention::full_attention, full).count / 2048.0;
  const double older = 96.0 * layers * h * h * (1.0 + 2048.0 / (6.0 * h) + 51200.0 / (16.0 * h * layers));
  CHECK(hardware == doctest::Approx(older).epsilon(1e-12));
}

TEST_CASE("recomputed FLOPs by module") {
  const Model v3 = test::public_model("deepseek_v3");
  const auto recomputed = [&](const Recompute& r) {
    return recompute_flops_per_token(v3, 4096, FlopsConvention::causal, r);
  };
  const FlopsBreakdown f = model_flops_per_token(v3, 4096, FlopsConvention::causal);
  CHECK(recomputed({}) == 0.0);
  CHECK(recomputed(selective({RecomputeModule::moe_act, RecomputeModule::layernorm})) == 0.0);
  CHECK(recomputed(selective({RecomputeModule::core_attn})) == doctest::Approx(f.attention_core / 3.0));
  const double all = (f.mlp + f.attention_linear + f.attention_core) / 3.0;
  CHECK(recomputed({RecomputeGranularity::full, {}}) == doctest::Approx(all));
  const double both = recomputed(selective({RecomputeModule::mlp, RecomputeModule::moe}));
  CHECK(both == doctest::Approx(f.mlp / 3.0));
  const double shared = recomputed(selective({RecomputeModule::shared_experts}));
  CHECK(shared == doctest::Approx(2.0 * 59.0 * 3.0 * 7168.0 * 2048.0)); // 58 layers and MTP
  CHECK(recomputed(selective({RecomputeModule::moe, RecomputeModule::shared_experts})) ==
        recomputed(selective({RecomputeModule::moe})));
  const double up = recomputed(selective({RecomputeModule::mla_up_proj}));
  CHECK(up == doctest::Approx(2.0 * 62.0 * (1536.0 * 128.0 * 192.0 + 512.0 * 128.0 * 256.0)));
}

TEST_CASE("Gated DeltaNet is linear in the sequence") {
  const LayerKind gdn{"gdn", GatedDeltaNet{16, 32, 128, 128, 4}, DenseFfn{}};
  const auto at = [&](std::int64_t seq) { return layer_flops_per_token(2048, gdn, seq, FlopsConvention::causal); };
  CHECK(at(4096) == at(262144));
  CHECK(at(4096).attention_core == 0.0);
}
