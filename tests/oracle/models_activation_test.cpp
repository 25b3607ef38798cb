// Activation bytes tensor by tensor against an independent estimator, and the closed forms of Korthikanti et al.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/cost/activation.h"
#include "tests/support/model_yaml.h"

using namespace tessella;

namespace {

constexpr double kMiB = 1024.0 * 1024.0;

struct Case {
  const char* name;
  std::int64_t hidden;
  LayerKind kind;
  std::int64_t tp;
  Precision precision;
  std::vector<std::string> tensors;
  std::vector<double> bytes;
  double total_mib;
  double moe_act, layernorm, mla_up_proj, probs, full; // MiB that each option saves
};

LayerKind v3() {
  return {"moe", MultiLatentAttention{128, 1536, 512, 128, 64, 128}, MoeFfn{256, 8, 2048, true, false, false, 2048}};
}

GroupedQueryAttention gqa(std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim) {
  GroupedQueryAttention a;
  a.heads = heads;
  a.kv_heads = kv_heads;
  a.head_dim = head_dim;
  return a;
}

// The estimator's Qwen3 has no q/k norm; the real one keeps their inputs too (a test of its own below).
LayerKind qwen3_235b() {
  return {"moe", gqa(64, 4, 128), MoeFfn{128, 8, 1536}};
}

LayerKind mixtral() {
  return {"moe", gqa(32, 8, 128), MoeFfn{8, 2, 14336}};
}

const std::vector<std::string> kMlaTensors = {"layer_input",
                                              "input_norm_out",
                                              "q_down_out",
                                              "q_norm_out",
                                              "kv_compressed",
                                              "kv_norm_out",
                                              "q",
                                              "k",
                                              "v",
                                              "attn_out",
                                              "softmax_stats",
                                              "mlp_norm_in",
                                              "shared_or_router_input",
                                              "router_probs",
                                              "permute_row_map",
                                              "shared_fc1_out",
                                              "shared_act_out",
                                              "dispatched_permuted_in",
                                              "expert_fc1_out",
                                              "expert_act_out",
                                              "combine_unpermute_in"};

const std::vector<std::string> kGqaTensors = {"layer_input",
                                              "input_norm_out",
                                              "q",
                                              "k",
                                              "v",
                                              "attn_out",
                                              "softmax_stats",
                                              "mlp_norm_in",
                                              "shared_or_router_input",
                                              "router_probs",
                                              "permute_row_map",
                                              "dispatched_permuted_in",
                                              "expert_fc1_out",
                                              "expert_act_out",
                                              "combine_unpermute_in"};

const std::vector<Case> kCases = {
    {"DeepSeek-V3 TP1 bf16",
     7168,
     v3(),
     1,
     Precision::bf16,
     kMlaTensors,
     {58720256, 58720256, 12582912, 12582912, 4194304,  4194304,  201326592, 201326592, 134217728, 134217728, 2097152,
      58720256, 58720256, 2097152,  8388608,  33554432, 16777216, 469762048, 268435456, 134217728, 469762048},
     2236.0,
     144,
     112,
     512,
     448,
     2180},
    {"DeepSeek-V3 TP2 bf16",
     7168,
     v3(),
     2,
     Precision::bf16,
     kMlaTensors,
     {29360128, 29360128, 6291456, 6291456, 2097152,  4194304, 100663296, 100663296, 67108864, 67108864, 1048576,
      29360128, 58720256, 1048576, 4194304, 16777216, 8388608, 234881024, 134217728, 67108864, 234881024},
     1148.0,
     72,
     56,
     256,
     224,
     1120},
    {"DeepSeek-V3 TP1 fp8",
     7168,
     v3(),
     1,
     Precision::fp8,
     kMlaTensors,
     {58720256, 29360128, 12582912, 6291456, 4194304,  2097152, 201326592, 201326592, 134217728, 134217728, 2097152,
      58720256, 29360128, 2097152,  8388608, 16777216, 8388608, 234881024, 268435456, 134217728, 469762048},
     1924.0,
     136,
     84,
     512,
     448,
     1868},
    {"Qwen3-235B TP1 bf16",
     4096,
     qwen3_235b(),
     1,
     Precision::bf16,
     kGqaTensors,
     {33554432, 33554432, 67108864, 4194304, 4194304, 67108864, 1048576, 33554432, 33554432, 1048576, 4194304,
      268435456, 201326592, 100663296, 268435456},
     1070.0,
     96,
     64,
     0,
     256,
     1038},
    {"Mixtral 8x7B TP1 bf16",
     4096,
     mixtral(),
     1,
     Precision::bf16,
     kGqaTensors,
     {33554432, 33554432, 33554432, 8388608, 8388608, 33554432, 524288, 33554432, 33554432, 65536, 262144, 67108864,
      469762048, 234881024, 67108864},
     1008.8125,
     224,
     64,
     0,
     64,
     976.8125},
};

ActivationShape shape_of(const Case& c) {
  ActivationShape s;
  s.tokens = 4096;
  s.tp = c.tp;
  s.precision = c.precision;
  s.probs_before_fc2 = false;
  return s;
}

double kept_mib(const Case& c, const ActivationShape& shape, const Recompute& recompute) {
  return kept_bytes(c.hidden, c.kind, shape, recompute) / kMiB;
}

} // namespace

TEST_CASE("every tensor of the estimator") {
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    const std::vector<KeptTensor> tensors = kept_tensors(c.hidden, c.kind, shape_of(c));
    REQUIRE(tensors.size() == c.bytes.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      CHECK(tensors[i].name == c.tensors[i]);
      CHECK(tensors[i].bytes == c.bytes[i]);
    }
    CHECK(kept_mib(c, shape_of(c), {}) == c.total_mib);
  }
}

TEST_CASE("what each recomputation saves") {
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    const auto saved = [&](RecomputeModule m) {
      return c.total_mib - kept_mib(c, shape_of(c), {RecomputeGranularity::selective, {m}});
    };
    CHECK(saved(RecomputeModule::moe_act) == c.moe_act);
    CHECK(saved(RecomputeModule::layernorm) == c.layernorm);
    CHECK(saved(RecomputeModule::mla_up_proj) == c.mla_up_proj);
    CHECK(c.total_mib - kept_mib(c, shape_of(c), {RecomputeGranularity::full, {}}) == c.full);
    ActivationShape before = shape_of(c);
    before.probs_before_fc2 = true;
    CHECK(c.total_mib - kept_mib(c, before, {}) == c.probs);
  }
}

TEST_CASE("published savings at 60 and 61 resident layer-microbatches (arXiv 2603.07685)") {
  const Case& c = kCases[0];
  const double gib = 1.0 / 1024.0;
  CHECK(60.0 * c.total_mib * gib == doctest::Approx(131.0).epsilon(0.001));
  CHECK(60.0 * c.probs * gib == 26.25);
  CHECK(61.0 * c.mla_up_proj * gib == 30.5);
}

TEST_CASE("q/k norms keep their inputs: Qwen3-235B as it is") {
  const Model model = test::public_model("qwen3_235b_a22b");
  ActivationShape shape;
  shape.tokens = 4096;
  shape.probs_before_fc2 = false;
  CHECK(kept_bytes(model.hidden_size, model.layer(0), shape, {}) / kMiB == 1070.0 + 64.0 + 4.0);
}

TEST_CASE("Korthikanti et al., table 2") {
  struct Row {
    KorthikantiShape shape;
    std::int64_t layers;
    double none, sp, selective, full, full_sp, first_stage;
  };
  const Row rows[] = {
      {{2048, 1, 12288, 96, 1}, 96, 2868903936, 2868903936, 855638016, 50331648, 50331648, 275414777856},
      {{2048, 1, 12288, 96, 8}, 96, 578813952, 358612992, 106954752, 50331648, 6291456, 34426847232},
      {{2048, 4, 6144, 64, 1}, 48, 7079985152, 7079985152, 1711276032, 100663296, 100663296, 339839287296},
      {{2048, 4, 6144, 64, 8}, 48, 1325400064, 884998144, 213909504, 100663296, 12582912, 42479910912},
      {{2048, 1, 20480, 128, 1}, 105, 4110417920, 4110417920, 1426063360, 83886080, 83886080, 431593881600},
      {{2048, 1, 20480, 128, 8}, 105, 880803840, 513802240, 178257920, 83886080, 10485760, 53949235200},
      {{2048, 1, 25600, 160, 1}, 128, 5138022400, 5138022400, 1782579200, 104857600, 104857600, 657666867200},
      {{2048, 1, 25600, 160, 8}, 128, 1101004800, 642252800, 222822400, 104857600, 13107200, 82208358400},
  };
  const auto same = [](double got, double want) { return std::abs(got - want) <= 1e-12 * want; };
  for (const Row& r : rows) {
    CAPTURE(r.shape.hidden);
    CHECK(same(korthikanti_layer_bytes(r.shape, KorthikantiForm::tensor_parallel), r.none));
    const double sp = korthikanti_layer_bytes(r.shape, KorthikantiForm::sequence_parallel);
    CHECK(same(sp, r.sp));
    CHECK(same(korthikanti_layer_bytes(r.shape, KorthikantiForm::selective), r.selective));
    CHECK(same(korthikanti_layer_bytes(r.shape, KorthikantiForm::full), r.full));
    CHECK(same(korthikanti_layer_bytes(r.shape, KorthikantiForm::full_sequence_parallel), r.full_sp));
    CHECK(same(sp * static_cast<double>(r.layers), r.first_stage));
  }
}

TEST_CASE("a dense layer is close to Megatron-LM's estimate s b h (18 + 4 f / h) / t") {
  // That estimate has dropout masks (2) and gated widths left out; ours keeps the statistics of flash attention
  // instead.
  const double n = 4096.0;
  const double h = 12288.0;
  const LayerKind gpt{"dense", gqa(96, 96, 128), DenseFfn{49152, false}};
  ActivationShape shape;
  shape.tokens = 4096;
  shape.tp = 8;
  const double ours = kept_bytes(12288, gpt, shape, {});
  const double softmax_stats = 4.0 * n * 96.0 / 8.0;
  CHECK(ours == n * h * (16.0 + 4.0 * 4.0) / 8.0 + softmax_stats);
}
