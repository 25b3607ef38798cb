// Model FLOPs per token by component, against independent counts (1e-9) and against what vendors published (0.5 %).
#include <doctest/doctest.h>

#include <cmath>

#include "sim/cost/flops.h"
#include "sim/cost/throughput.h"
#include "tests/support/model_yaml.h"

using namespace tessella;

namespace {

struct Count {
  const char* model;
  std::int64_t seq;
  std::int64_t mtp;
  double mlp, attention_linear, attention_core, mtp_extra, logits, non_causal_total;
};

// Counted outside this project with Megatron-LM's num_floating_point_operations.
constexpr Count kCounts[] = {
    {"deepseek_v3", 4096, 1, 147446562816, 69603926016, 31205621760, 616691712, 11120148480, 291198572544},
    {"deepseek_v3", 4096, 0, 145068392448, 68481282048, 30702305280, 0, 5560074240, 280514359296},
    {"qwen3_235b_a22b", 4096, 0, 85161148416, 40214986752, 18924699648, 0, 3733979136, 166959513600},
    {"qwen3_30b_a3b", 4096, 0, 10871635968, 5435817984, 4831838208, 0, 1866989568, 27838119936},
    {"qwen3_next_80b_a3b", 4096, 1, 10173284352, 9913958400, 1207959552, 50368512, 3733979136, 26287509504},
    {"qwen3_next_80b_a3b", 4096, 0, 9965666304, 9699065856, 1207959552, 0, 1866989568, 23947640832},
    {"kimi_k2", 4096, 0, 145068392448, 37011419136, 15351152640, 0, 7046430720, 219828547584},
    {"llama3_70b", 8192, 0, 338228674560, 72477573120, 32212254720, 0, 6304038912, 481434796032},
    {"llama3_1_405b", 8192, 0, 1978637746176, 431241560064, 101468602368, 0, 12608077824, 2625424588800},
    {"mixtral_8x22b", 4096, 0, 202937204736, 29595009024, 8455716864, 0, 1207959552, 250651607040},
};

bool same(double got, double want) {
  return std::abs(got - want) <= 1e-9 * std::abs(want);
}

double off(double got, double want) {
  return std::abs(got / want - 1.0);
}

Model model_of(const char* name, std::int64_t mtp) {
  Model model = test::public_model(name);
  model.mtp_num_layers = mtp;
  return model;
}

double gflop(const char* name, std::int64_t seq, std::int64_t mtp,
             FlopsConvention convention = FlopsConvention::causal) {
  return model_flops_per_token(model_of(name, mtp), seq, convention).total() * 1e-9;
}

} // namespace

TEST_CASE("per component to 1e-9") {
  for (const Count& c : kCounts) {
    CAPTURE(c.model);
    CAPTURE(c.mtp);
    Model model = model_of(c.model, c.mtp);
    // This count continued the 3:1 pattern into the MTP layer; the model file says softmax, as the model has it.
    if (model.name == "qwen3_next_80b_a3b") model.mtp_kind = test::kind_index(model, "gdn_moe");
    const FlopsBreakdown f = model_flops_per_token(model, c.seq, FlopsConvention::causal);
    CHECK(same(f.mlp, c.mlp));
    CHECK(same(f.attention_linear, c.attention_linear));
    CHECK(same(f.attention_core, c.attention_core));
    CHECK(same(f.mtp, c.mtp_extra));
    CHECK(same(f.logits, c.logits));
    const FlopsBreakdown full = model_flops_per_token(model, c.seq, FlopsConvention::full_attention);
    CHECK(same(full.total(), c.non_causal_total));
  }
}

TEST_CASE("Qwen3-Next with its MTP layer as softmax attention") {
  // 25.08 GF - one Gated DeltaNet layer (0.2149) + one softmax layer (0.1636 + 0.1007 core)
  CHECK(same(gflop("qwen3_next_80b_a3b", 4096, 1), 25.079549952 - 0.214892544 + 0.163577856 + 0.100663296));
}

TEST_CASE("published (tokens/s/GPU, TFLOPS/GPU) pairs") {
  struct Pair {
    const char* model;
    std::int64_t seq, mtp;
    double tokens, tflops;
  };
  constexpr Pair pairs[] = {
      {"deepseek_v3", 4096, 1, 6288, 1635},    {"deepseek_v3", 4096, 1, 4912, 1276},
      {"deepseek_v3", 4096, 1, 6338, 1648},    {"deepseek_v3", 4096, 1, 4730, 1233},
      {"deepseek_v3", 4096, 1, 1412, 368},     {"qwen3_235b_a22b", 4096, 0, 8816, 1306},
      {"qwen3_235b_a22b", 4096, 0, 1686, 250}, {"qwen3_30b_a3b", 4096, 0, 44544, 1029},
      {"qwen3_30b_a3b", 4096, 0, 39936, 923},  {"kimi_k2", 4096, 0, 5372, 1099},
      {"llama3_70b", 8192, 0, 7397, 3321},     {"llama3_1_405b", 8192, 0, 1048, 2646},
  };
  for (const Pair& p : pairs) {
    CAPTURE(p.model);
    CAPTURE(p.tokens);
    CHECK(off(gflop(p.model, p.seq, p.mtp), p.tflops * 1e3 / p.tokens) < 0.005);
  }
}

TEST_CASE("a published pair on another basis: gpt-oss-120b, 5,993 tokens/s and 163 TFLOPS") {
  const double implied = 163e3 / 5993.0;
  Model model = test::public_model("gpt_oss_120b");
  CHECK(off(model_flops_per_token(model, 4096, FlopsConvention::causal).total() * 1e-9, 32.63) < 0.001);
  // That figure takes its experts for two matrices and its windows for full attention.
  for (LayerKind& kind : model.kinds) {
    std::get<MoeFfn>(kind.ffn).gated = false;
    std::get<GroupedQueryAttention>(kind.attention).window.reset();
  }
  CHECK(off(model_flops_per_token(model, 4096, FlopsConvention::causal).total() * 1e-9, implied) < 0.005);
}

TEST_CASE("Nemotron-3: published pairs, with Megatron-LM's two habits") {
  // Its hybrid counter leaves the MTP projection out, and takes the Mamba width for twice the hidden size.
  const FlopsBreakdown super =
      model_flops_per_token(test::public_model("nemotron_3_super"), 4096, FlopsConvention::causal);
  CHECK(off((super.total() - super.mtp) * 1e-9, 248.61e3 / 2969.34) < 0.001); // two MTP depths; one gives 79.1
  Model nano = test::public_model("nemotron_3_nano");
  CHECK(off(model_flops_per_token(nano, 8192, FlopsConvention::causal).total() * 1e-9, 20.77) < 0.001);
  for (LayerKind& kind : nano.kinds)
    if (auto* mamba = std::get_if<Mamba2>(&kind.attention)) mamba->mamba_num_heads = 2 * 2688 / 64;
  const double counted = model_flops_per_token(nano, 8192, FlopsConvention::causal).total() * 1e-9;
  for (const double published : {328e3 / 14719, 321e3 / 14336, 323e3 / 14507, 331e3 / 14890})
    CHECK(off(counted, published) < 0.006);
}

TEST_CASE("case 17: FLOPs per step under both conventions") {
  const auto tflop = [](const char* name, std::int64_t samples, FlopsConvention c) {
    return model_flops(test::public_model(name), Batch{1, samples, 2048}, c).count * 1e-12;
  };
  CHECK(off(tflop("llama2_7b", 12, FlopsConvention::full_attention), 1053.4) < 0.0005);
  CHECK(off(tflop("llama2_7b", 12, FlopsConvention::causal), 1013.8) < 0.0005);
  CHECK(off(tflop("mixtral_8x7b", 12, FlopsConvention::full_attention), 1958.9) < 0.001);

  Model all_experts = test::public_model("mixtral_8x7b");
  std::get<MoeFfn>(all_experts.kinds[0].ffn).router_topk = 8;
  const double wrong = model_flops(all_experts, Batch{1, 12, 2048}, FlopsConvention::full_attention).count * 1e-12;
  CHECK(off(wrong, 6946.5) < 0.01); // what a count of all experts prints

  const double seconds = 5.9264; // the log line, 16 H100
  const auto per_gpu = [&](FlopsConvention c) {
    return tflops_per_gpu(Flops{tflop("mixtral_8x7b", 128, c) * 1e12}, seconds, 16);
  };
  CHECK(off(per_gpu(FlopsConvention::full_attention), 220.4) < 0.001);
  CHECK(off(per_gpu(FlopsConvention::causal), 215.9) < 0.001);
}

TEST_CASE("case 18: throughput, TFLOPS and step time agree") {
  struct Row {
    const char* model;
    std::int64_t gpus, samples;
    double tokens, tflops, reported, seconds;
  };
  constexpr Row rows[] = {
      {"qwen3_235b_a22b", 256, 2048, 1204, 178.2, 178, 27.22},
      {"qwen3_235b_a22b", 256, 2048, 1575, 233.2, 233, 20.81},
      {"qwen3_235b_a22b", 256, 8192, 1712, 253.4, 253, 76.56},
      {"qwen3_235b_a22b", 256, 8192, 9015, 1334.5, 1335, 14.54},
      {"qwen3_30b_a3b", 16, 1024, 8826, 203.0, 203, 29.70},
      {"qwen3_30b_a3b", 8, 512, 45275, 1041.6, 1041, 5.790},
  };
  for (const Row& r : rows) {
    CAPTURE(r.tokens);
    const Batch batch{1, r.samples, 4096};
    const double seconds = static_cast<double>(r.samples * 4096) / (r.tokens * static_cast<double>(r.gpus));
    CHECK(off(seconds, r.seconds) < 0.005);
    CHECK(off(tokens_per_s_per_gpu(r.samples * 4096, seconds, r.gpus), r.tokens) < 1e-12);
    const Flops work = model_flops(test::public_model(r.model), batch, FlopsConvention::causal);
    const double tflops = tflops_per_gpu(work, seconds, r.gpus);
    CHECK(off(tflops, r.tflops) < 0.005);
    CHECK(off(tflops, r.reported) < 0.005);
  }
}

TEST_CASE("case 18: peaks and consistency") {
  CHECK(off(mfu(400.0, FlopRate{989e12}), 0.404) < 0.005);
  CHECK_FALSE(sparse_peak_warning(FlopRate{989e12}).has_value());
  CHECK_FALSE(sparse_peak_warning(FlopRate{989.4e12}).has_value());
  const auto warning = sparse_peak_warning(FlopRate{1979e12});
  REQUIRE(warning.has_value());
  for (const char* word : {"1979", "sparsity", "989"}) CHECK(warning->find(word) != std::string::npos);

  const Measurement a{4.63855, 208, 19.423};
  const Measurement b{68.58827, 192, 9.330};
  CHECK(off(*a.tflops_per_gpu * a.step_seconds * 208.0, 18739.7) < 0.005);
  CHECK(off(implied_tflops_per_gpu(a, b), 1.423) < 0.005);
  const auto flag = inconsistent_work(a, b, 0.005);
  REQUIRE(flag.has_value());
  CHECK(flag->find("1.423") != std::string::npos);
  CHECK(flag->find("9.330") != std::string::npos);
  CHECK_FALSE(inconsistent_work(a, Measurement{68.58827, 192, 1.423}, 0.005).has_value());
}

TEST_CASE("case 19: DeepSeek-V3 adds up only with its MTP layer") {
  const double with = gflop("deepseek_v3", 4096, 1) * 1e-3; // TFLOP per token
  const double without = gflop("deepseek_v3", 4096, 0) * 1e-3;
  CHECK(off(1297.0 * with, 337.2) < 0.005);
  CHECK(off(1297.0 * with, 338.0) < 0.005);
  CHECK(off(1297.0 * without, 324.0) < 0.005);
  CHECK(off(1297.0 * without, 338.0) > 0.04);
  CHECK(off(6338.0 * with, 1648.0) < 0.005);
  const double tokens = 14.8e12 / (2.664e6 * 3600.0);
  CHECK(off(tokens, 1543.2) < 0.005);
  CHECK(off(tokens * with, 401.2) < 0.005);

  const Parallelism grid{1024, 2, 1, 8, 4, 64, 1, true};
  CHECK(grid.dp() == 64);
  CHECK(8192 / grid.dp() == 128);
  CHECK(off(8192.0 * 4096.0 / (1297.0 * 1024.0), 25.26) < 0.005);

  const FlopRate peak{989.4e12};
  const FlopsBasis ours{FlopsConvention::causal, 1, peak};
  CHECK_FALSE(incomparable(ours, {FlopsConvention::causal, 1, FlopRate{989e12}}).has_value());
  CHECK(incomparable(ours, {FlopsConvention::causal, 0, peak})->find("MTP") != std::string::npos);
  CHECK(incomparable(ours, {FlopsConvention::full_attention, 1, peak})->find("full attention") != std::string::npos);
  CHECK(incomparable(ours, {FlopsConvention::causal, 1, FlopRate{1979e12}})->find("1979") != std::string::npos);
}

TEST_CASE("DeepSeek-V3 production row: 272.80 B tokens a day on 2,048 H800") {
  // The published 385 / 432 TFLOPS leave MTP out; case 19 counts the same run with it.
  const double tokens = 272.80e9 / 86400.0 / 2048.0;
  const double causal = tokens * gflop("deepseek_v3", 4096, 0) * 1e-3;
  const double full = tokens * gflop("deepseek_v3", 4096, 0, FlopsConvention::full_attention) * 1e-3;
  CHECK(off(causal, 385.0) < 0.005);
  CHECK(off(full, 432.0) < 0.005);
  CHECK(off(mfu(causal, FlopRate{989.5e12}), 0.3894) < 0.005);
  CHECK(off(mfu(full, FlopRate{989.5e12}), 0.4373) < 0.005);
  CHECK(off(15360.0 * 4096.0 / (tokens * 2048.0), 19.926) < 0.001);
}

TEST_CASE("case 30: MegaScale, 175B on 12,288 GPUs at 55.2 % MFU") {
  const std::int64_t samples = 6144;
  CHECK(samples * 2048 / 12288 == 1024);
  const Model gpt3 = test::public_model("gpt3_175b");
  const double work = model_flops(gpt3, Batch{1, samples, 2048}, FlopsConvention::full_attention).count;
  const double seconds = work / (0.552 * 312e12 * 12288.0);
  CHECK(seconds > 6.25);
  CHECK(seconds < 6.45);
}
