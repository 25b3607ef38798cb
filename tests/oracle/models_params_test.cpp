// Parameter totals of models/*.yaml against the published sizes. A wrong dimension, a forgotten shared expert or a
// third expert matrix moves a total by far more than the 0.5 % allowed.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "sim/cost/params.h"
#include "tests/support/model_yaml.h"

using namespace tessella;

namespace {

struct PublicSize {
  const char* name;
  double total_b;
  double active_b;
  const char* source;
};

// Billions, recomputed by others from the public configurations; GPT-3, Llama and Piper as their papers round them.
constexpr PublicSize kSizes[] = {
    {"qwen3_30b_a3b", 30.53, 3.35, "model card: 30.5B, 3.3B active"},
    {"qwen3_235b_a22b", 235.09, 22.19, "model card: 235B, 22B active"},
    {"qwen3_next_80b_a3b", 79.67, 3.87, "model card: 80B"},
    {"deepseek_v3", 671.03, 37.55, "paper: 671B, 37B active"},
    {"deepseek_v2", 235.74, 21.38, "paper: 236B, 21B active"},
    {"kimi_k2", 1026.41, 32.86, "model card: 1T, 32B active"},
    {"glm_4_5", 352.80, 33.63, "model card with MTP: 355B, 32B active"},
    {"glm_4_5_air", 106.85, 13.42, "model card: 106B, 12B active"},
    {"minimax_m2", 228.69, 11.03, "model card: 230B, 10B active"},
    {"gpt_oss_120b", 116.79, 5.71, "model card: 116.83B"},
    {"gpt_oss_20b", 20.91, 4.19, "model card: 20.91B"},
    {"mixtral_8x7b", 46.70, 12.88, "paper: 47B, 13B active"},
    {"mixtral_8x22b", 140.63, 39.16, "model card: 141B, 39B active"},
    {"llama3_70b", 70.55, 70.55, "paper: 70B; Hugging Face: 70.6B"},
    {"llama3_1_405b", 405.85, 405.85, "paper: 405B; Hugging Face: 406B"},
    {"llama2_7b", 6.738, 6.738, "Hugging Face: 6.74B"},
    {"gpt3_175b", 174.6, 174.6, "paper: 174.6B (table 2.1)"},
    {"llama3_1_8b", 8.03, 8.03, "Hugging Face: 8.03B"},
    {"llama2_13b", 13.02, 13.02, "Hugging Face: 13B"},
    {"llama2_70b", 68.98, 68.98, "Hugging Face: 69B"},
    {"qwen3_8b", 8.19, 8.19, "model card: 8.2B"},
    {"nemotron4_15b", 15.6, 15.6, "paper: 12.5B and 3.2B of embeddings"},
    {"nemotron4_340b", 341.0, 341.0, "paper: 331.6B and 9.4B of embeddings"},
    {"nemotron_3_nano", 31.58, 3.58, "model card: 31.6B, 3.6B active with embeddings"},
    {"nemotron_3_super", 120.67, 12.77, "model card: 120B, 12B active; without MTP"},
    {"gpt3_20b", 20.2, 20.2, "12 L h^2 and the vocabulary"},
    {"grok1_314b", 316.5, 84.6, "Hugging Face: 316B"},
    {"moonlight_16b_a3b", 15.96, 2.92, "model card: 16B; 2.24B active without embeddings"},
    {"llama4_maverick_400b", 400.7, 17.2, "Hugging Face: 402B with vision; 17B active"},
    {"gpt_3_6b", 3.57, 3.57, "Megatron-LM (arXiv 2104.04473), equation 2; table 1: 3.6B"},
    {"gpt_18_4b", 18.4, 18.4, "same: 18.4B"},
    {"gpt_39_1b", 39.1, 39.1, "same: 39.1B"},
    {"gpt_530b", 529.6, 529.6, "same: 529.6B"},
    {"gpt_1t", 1008.0, 1008.0, "same: 1008.0B"},
    {"megatron_gpt_462b", 462.0, 462.0, "Megatron-LM README: 462B"},
    {"megatron_gpt_314b", 314.0, 314.0, "same: 314B"},
    {"megatron_gpt_177b", 177.0, 177.0, "same: 177B"},
    {"megatron_gpt_7_1b", 7.1, 7.1, "same: 7.1B"},
    {"piper_m10b_e16", 110.7, 17.1, "Piper: 110B"},
    {"piper_m10b_e128", 862.3, 17.1, "Piper: 862B"},
    {"piper_m10b_e256", 1721.3, 17.1, "Piper: 1.7T"},
};

double off(double got, double want) {
  return std::abs(got / want - 1.0);
}

} // namespace

TEST_CASE("published sizes") {
  for (const PublicSize& p : kSizes) {
    CAPTURE(p.name);
    const ModelSize size = model_size(test::public_model(p.name));
    CHECK(off(static_cast<double>(size.total) * 1e-9, p.total_b) < 0.005);
    CHECK(off(static_cast<double>(size.active) * 1e-9, p.active_b) < 0.005);
  }
}

TEST_CASE("per-layer figures of layer_costs sections 8.1 and 10") {
  const Model v3 = test::public_model("deepseek_v3");
  const ParamCount mla = attention_params(v3.hidden_size, v3.layer(60).attention);
  CHECK(off(static_cast<double>(mla.total()), 187.1e6) < 0.001);
  const MoeFfn& moe = *moe_of(v3.layer(60));
  CHECK(ffn_params(v3.hidden_size, moe).routed == 256LL * 3 * 7168 * 2048);

  const Model next = test::public_model("qwen3_next_80b_a3b");
  const auto layer = [&](std::int64_t i) {
    return attention_params(next.hidden_size, next.layer(i).attention).total();
  };
  CHECK(off(static_cast<double>(layer(0)), 33.7e6) < 0.002);
  CHECK(off(static_cast<double>(layer(3)), 27.3e6) < 0.002);
  const ParamCount ffn = ffn_params(next.hidden_size, next.layer(0).ffn);
  CHECK(off(static_cast<double>(ffn.total()), 1614.8e6) < 0.001);
  CHECK(off(static_cast<double>(ffn.total() - idle_params(next.hidden_size, next.layer(0))), 35.7e6) < 0.002);
}

TEST_CASE("Nemotron-3 Super: with the weights of one MTP block it is the 123.61 B that Megatron-Bridge has") {
  const ModelSize size = model_size(test::public_model("nemotron_3_super"));
  CHECK(off(static_cast<double>(size.total + size.mtp), 123.61e9) < 0.0005);
}

TEST_CASE("class sizes of the assumed models") {
  const auto billions = [](const char* name) {
    const Model model = test::public_model(name);
    CHECK(model.assumed);
    return static_cast<double>(model_size(model).total) * 1e-9;
  };
  const double m = billions("tessera_qwen3_next_m");
  CHECK(m > 100.0);
  CHECK(m < 500.0);
  const double l = billions("tessera_qwen3_l");
  CHECK(l > 500.0);
  CHECK(l < 1000.0);
  for (const char* trillion : {"tessera_qwen3_xl", "tessera_qwen3_next_l", "tessera_qwen3_next_xl"})
    CHECK(billions(trillion) > 1000.0);
}

TEST_CASE("the yardstick has the layers of tessera_qwen3_next_l, 96 of them") {
  const Model yardstick = test::public_model("scale_qwen3_next_96l");
  CHECK(yardstick.num_layers() == 96);
  CHECK(yardstick.kinds == test::public_model("tessera_qwen3_next_l").kinds);
  std::int64_t softmax = 0;
  for (std::int64_t i = 0; i < 96; ++i)
    softmax += std::holds_alternative<GroupedQueryAttention>(yardstick.layer(i).attention) ? 1 : 0;
  CHECK(softmax == 24);
}

TEST_CASE("every file has a source and its own name") {
  for (const auto& entry : std::filesystem::directory_iterator("models")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().string());
    const Model model = test::read_model(entry.path().string());
    CHECK(model.name == entry.path().stem().string());
    CHECK(model.source.size() > 10);
    CHECK(model.num_layers() > 0);
    CHECK(model_size(model).active <= model_size(model).total);
  }
}

TEST_CASE("64-bit products: 256 experts of 14,680,064 elements pass 2^31") {
  MoeFfn f;
  f.num_experts = 256;
  f.router_topk = 1;
  f.moe_ffn_hidden_size = 7168;
  f.gated = false;
  CHECK(ffn_params(1024, f).routed == 3758096384LL);
}
