// Public config.json files: their shapes, written down from published dimensions, import with the published totals.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/config/import_hf.h"
#include "sim/config/load.h"
#include "sim/cost/params.h"

using namespace tessella;

namespace {

struct Shape {
  const char* name;
  const char* json;
  double total_b = 0.0;     // published, billions; MTP out
  const char* shipped = ""; // the model of ours that it must equal; "": none
};

const std::vector<Shape> kShapes = {
    {"qwen3_30b_a3b", R"({"model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 48,
      "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
      "num_experts_per_tok": 8, "moe_intermediate_size": 768, "intermediate_size": 6144, "vocab_size": 151936,
      "decoder_sparse_step": 1, "mlp_only_layers": [], "attention_bias": false, "tie_word_embeddings": false,
      "sliding_window": null, "use_sliding_window": false, "hidden_act": "silu"})",
     30.53, "qwen3_30b_a3b"},
    {"qwen3_235b_a22b", R"({"model_type": "qwen3_moe", "hidden_size": 4096, "num_hidden_layers": 94,
      "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
      "num_experts_per_tok": 8, "moe_intermediate_size": 1536, "intermediate_size": 12288, "vocab_size": 151936,
      "decoder_sparse_step": 1, "mlp_only_layers": [], "tie_word_embeddings": false})",
     235.09, "qwen3_235b_a22b"},
    {"qwen3_next_80b_a3b", R"({"model_type": "qwen3_next", "hidden_size": 2048, "num_hidden_layers": 48,
      "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "num_experts": 512,
      "num_experts_per_tok": 10, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
      "intermediate_size": 5120, "full_attention_interval": 4, "linear_num_key_heads": 16,
      "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
      "linear_conv_kernel_dim": 4, "decoder_sparse_step": 1, "vocab_size": 151936, "tie_word_embeddings": false})",
     79.67},
    {"deepseek_v3", R"({"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61,
      "num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512,
      "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256,
      "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_intermediate_size": 2048, "intermediate_size": 18432,
      "first_k_dense_replace": 3, "moe_layer_freq": 1, "n_group": 8, "topk_group": 4, "topk_method": "noaux_tc",
      "num_nextn_predict_layers": 1, "vocab_size": 129280, "tie_word_embeddings": false})",
     671.03, "deepseek_v3"},
    {"deepseek_v2", R"({"model_type": "deepseek_v2", "hidden_size": 5120, "num_hidden_layers": 60,
      "num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512,
      "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 160,
      "num_experts_per_tok": 6, "n_shared_experts": 2, "moe_intermediate_size": 1536, "intermediate_size": 12288,
      "first_k_dense_replace": 1, "moe_layer_freq": 1, "n_group": 8, "topk_group": 3,
      "topk_method": "group_limited_greedy", "vocab_size": 102400, "tie_word_embeddings": false})",
     235.74, "deepseek_v2"},
    {"kimi_k2", R"({"model_type": "kimi_k2", "hidden_size": 7168, "num_hidden_layers": 61,
      "num_attention_heads": 64, "num_key_value_heads": 64, "q_lora_rank": 1536, "kv_lora_rank": 512,
      "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 384,
      "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_intermediate_size": 2048, "intermediate_size": 18432,
      "first_k_dense_replace": 1, "moe_layer_freq": 1, "n_group": 1, "topk_group": 1, "topk_method": "noaux_tc",
      "num_nextn_predict_layers": 0, "vocab_size": 163840, "tie_word_embeddings": false})",
     1026.41},
    {"glm_4_5", R"({"model_type": "glm4_moe", "hidden_size": 5120, "num_hidden_layers": 92,
      "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128, "n_routed_experts": 160,
      "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_intermediate_size": 1536, "intermediate_size": 12288,
      "first_k_dense_replace": 3, "n_group": 1, "topk_group": 1, "use_qk_norm": true, "attention_bias": true,
      "num_nextn_predict_layers": 1, "vocab_size": 151552, "tie_word_embeddings": false})",
     352.80},
    {"glm_4_5_air", R"({"model_type": "glm4_moe", "hidden_size": 4096, "num_hidden_layers": 46,
      "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128, "n_routed_experts": 128,
      "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_intermediate_size": 1408, "intermediate_size": 10944,
      "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "use_qk_norm": false, "attention_bias": true,
      "num_nextn_predict_layers": 1, "vocab_size": 151552, "tie_word_embeddings": false})",
     106.85},
    {"minimax_m2", R"({"model_type": "minimax_m2", "hidden_size": 3072, "num_hidden_layers": 62,
      "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "rotary_dim": 64,
      "num_local_experts": 256, "num_experts_per_tok": 8, "intermediate_size": 1536, "use_qk_norm": true,
      "use_routing_bias": true, "use_mtp": true, "num_mtp_modules": 3, "vocab_size": 200064,
      "tie_word_embeddings": false})",
     228.69, "minimax_m2"},
    {"gpt_oss_120b", R"({"model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 36,
      "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 128,
      "num_experts_per_tok": 4, "experts_per_token": 4, "intermediate_size": 2880, "attention_bias": true,
      "sliding_window": 128, "vocab_size": 201088, "tie_word_embeddings": false})",
     116.83}, // gpt-oss model card (arXiv 2508.10925), table 1: biases counted
    {"gpt_oss_20b", R"({"model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 24,
      "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 32,
      "num_experts_per_tok": 4, "intermediate_size": 2880, "attention_bias": true, "sliding_window": 128,
      "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention",
      "sliding_attention", "full_attention", "sliding_attention", "full_attention", "sliding_attention",
      "full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention",
      "sliding_attention", "full_attention", "sliding_attention", "full_attention", "sliding_attention",
      "full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention"],
      "vocab_size": 201088, "tie_word_embeddings": false})",
     20.91, "gpt_oss_20b"},
    {"mixtral_8x7b", R"({"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2,
      "intermediate_size": 14336, "sliding_window": null, "vocab_size": 32000, "tie_word_embeddings": false})",
     46.70, "mixtral_8x7b"},
    {"mixtral_8x22b", R"({"model_type": "mixtral", "hidden_size": 6144, "num_hidden_layers": 56,
      "num_attention_heads": 48, "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2,
      "intermediate_size": 16384, "vocab_size": 32768, "tie_word_embeddings": false})",
     140.63, "mixtral_8x22b"},
    {"llama2_7b", R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
      "intermediate_size": 11008, "vocab_size": 32000, "hidden_act": "silu"})",
     6.738415616, "llama2_7b"},
    {"llama2_13b", R"({"model_type": "llama", "hidden_size": 5120, "num_hidden_layers": 40,
      "num_attention_heads": 40, "num_key_value_heads": 40, "intermediate_size": 13824, "vocab_size": 32000})",
     13.015864320},
    {"llama2_70b", R"({"model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 80,
      "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 28672, "vocab_size": 32000})",
     68.976648192},
    {"llama3_8b", R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
      "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": false})",
     8.030261248},
    {"llama3_70b", R"({"model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 80,
      "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 28672, "vocab_size": 128256})",
     70.553706496, "llama3_70b"},
    {"qwen3_32b", R"({"model_type": "qwen3", "hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 64,
      "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 25600, "vocab_size": 151936,
      "tie_word_embeddings": false})",
     32.762123264},
    // Layers one by one: mixers, attentions, FFNs. The smaller n_group is of the router, n_groups of the mixer.
    {"nemotron_h_8b", R"({"model_type": "nemotron_h", "hidden_size": 4096, "num_hidden_layers": 52,
      "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-", "mamba_num_heads": 128,
      "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "chunk_size": 128, "expand": 2,
      "num_attention_heads": 32, "num_key_value_heads": 8, "attention_head_dim": 128, "intermediate_size": 21504,
      "mlp_hidden_act": "relu2", "vocab_size": 131072, "tie_word_embeddings": false})",
     8.10},
    {"nemotron_3_nano", R"({"model_type": "nemotron_h", "hidden_size": 2688, "num_hidden_layers": 52,
      "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", "mamba_num_heads": 64,
      "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "chunk_size": 128, "expand": 2,
      "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 1856,
      "n_routed_experts": 128, "num_experts_per_tok": 6, "n_shared_experts": 1, "n_group": 1, "topk_group": 1,
      "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712, "mlp_hidden_act": "relu2",
      "vocab_size": 131072, "tie_word_embeddings": false})",
     31.58, "nemotron_3_nano"},
    {"nemotron_3_super", R"({"model_type": "nemotron_h", "hidden_size": 4096, "num_hidden_layers": 88,
      "hybrid_override_pattern":
      "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME",
      "mamba_num_heads": 128, "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4,
      "chunk_size": 128, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
      "n_routed_experts": 512, "num_experts_per_tok": 22, "n_shared_experts": 1, "moe_latent_size": 1024,
      "moe_intermediate_size": 2688, "moe_shared_expert_intermediate_size": 5376, "mlp_hidden_act": "relu2",
      "num_nextn_predict_layers": 2, "mtp_hybrid_override_pattern": "*E", "vocab_size": 131072,
      "tie_word_embeddings": false})",
     120.67, "nemotron_3_super"},
    // Shapes that only their arithmetic checks: 16 layers of 64 experts, and a nested language model.
    {"olmoe_1b_7b", R"({"model_type": "olmoe", "hidden_size": 2048, "num_hidden_layers": 16,
      "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts": 64, "num_experts_per_tok": 8,
      "intermediate_size": 1024, "vocab_size": 50304, "tie_word_embeddings": false})",
     (2.0 * 50304 * 2048 + 16.0 * (4.0 * 2048 * 2048 + 64.0 * 3 * 2048 * 1024 + 2048 * 64)) * 1e-9},
    {"nemotron_4_340b", R"({"model_type": "nemotron", "hidden_size": 18432, "num_hidden_layers": 96,
      "num_attention_heads": 96, "num_key_value_heads": 8, "intermediate_size": 73728, "vocab_size": 256000,
      "hidden_act": "relu2", "tie_word_embeddings": false})",
     341.0}, // 331.6 without embeddings and 9.4 of them: its technical report
    {"nested", R"({"model_type": "some_vl", "tie_word_embeddings": false, "text_config": {"model_type": "qwen2",
      "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2,
      "intermediate_size": 4864, "vocab_size": 151936}})",
     (2.0 * 151936 * 896 + 24.0 * (2.0 * 896 * 896 + 2.0 * 896 * 128 + 1152 + 3.0 * 896 * 4864)) * 1e-9},
};

std::string field(const std::string& json) { // a glm_moe_dsa config with these keys added
  return R"({"model_type": "glm_moe_dsa", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8,
    "vocab_size": 1000, "intermediate_size": 2048, "moe_intermediate_size": 256, "num_experts_per_tok": 4, )" +
         json + "}";
}

std::string refusal(const std::string& json) {
  try {
    import_hf("config.json", json, "m");
  } catch (const InputError& error) {
    return error.message();
  }
  return "accepted";
}

} // namespace

TEST_CASE("Public shapes import with their published totals") {
  for (const Shape& shape : kShapes) {
    INFO(std::string(shape.name));
    const ImportedModel imported = import_hf("config.json", shape.json, shape.name);
    const double total = static_cast<double>(model_size(imported.model).total) * 1e-9;
    CHECK(std::fabs(total - shape.total_b) <= 0.006 + 2e-4 * shape.total_b);
    for (const std::string& warning : imported.warnings) CHECK(warning.find("text_config") != std::string::npos);
  }
}

TEST_CASE("What we ship is what the config says, layer by layer") {
  int compared = 0;
  for (const Shape& shape : kShapes) {
    if (*shape.shipped == '\0') continue;
    INFO(std::string(shape.name));
    const Model ours = load_model(fmt::format("models/{}.yaml", shape.shipped));
    const Model theirs = import_hf("config.json", shape.json, shape.name).model;
    REQUIRE(ours.num_layers() == theirs.num_layers());
    CHECK(ours.hidden_size == theirs.hidden_size);
    CHECK(ours.vocab_size == theirs.vocab_size);
    CHECK(ours.mtp_num_layers == theirs.mtp_num_layers);
    for (std::int64_t i = 0; i < ours.num_layers(); ++i) {
      CHECK(ours.layer(i).attention == theirs.layer(i).attention);
      CHECK(ours.layer(i).ffn == theirs.layer(i).ffn);
    }
    ++compared;
  }
  CHECK(compared >= 8);
}

// Case 10: a config that carries two expert counts (huggingface/transformers issue 47355).
TEST_CASE("The model's own key beats the generic one, with one warning that prints both values") {
  const auto experts = [](const ImportedModel& m) { return moe_of(m.model.kinds[0])->num_experts; };
  const ImportedModel wins = import_hf("config.json", field(R"("n_routed_experts": 168, "num_experts": 256)"), "m");
  CHECK(experts(wins) == 168);
  REQUIRE(wins.warnings.size() == 1);
  for (const char* word : {"n_routed_experts", "num_experts", "168", "256"})
    CHECK(wins.warnings[0].find(word) != std::string::npos);
  const ImportedModel small = import_hf("config.json", field(R"("n_routed_experts": 8, "num_experts": 256)"), "m");
  CHECK(experts(small) == 8);
  CHECK(small.warnings.size() == 1);
  CHECK(import_hf("config.json", field(R"("num_experts": 128)"), "m").warnings.empty());
  CHECK(import_hf("config.json", field(R"("num_experts": 128, "n_routed_experts": 128)"), "m").warnings.empty());
}

TEST_CASE("A missing key lists its aliases; what no layer kind models is refused") {
  CHECK(refusal(R"({"hidden_size": 64, "vocab_size": 100})") ==
        "has no number of layers; looked for num_hidden_layers, n_layer, num_layers");
  CHECK(refusal("[1]") == "is not a JSON object; expected a config.json");
  CHECK(refusal("{") == "is not JSON; expected a config.json");
  CHECK(refusal(R"({"model_type": "nemotron_h"})") ==
        "has Mamba-2 layers but no hybrid_override_pattern that says where");
  CHECK(refusal(R"({"model_type": "jamba"})") ==
        "has Mamba-1 layers, which no layer kind models (mamba2 is the one there is)");
  CHECK(refusal(R"({"hidden_size": 64, "vocab_size": 9, "num_hidden_layers": 3, "hybrid_override_pattern": "MM"})") ==
        "hybrid_override_pattern has 2 letters for 3 layers");
  CHECK(
      refusal(R"({"hidden_size": 64, "vocab_size": 9, "num_hidden_layers": 1, "hybrid_override_pattern": "X"})") ==
      "hybrid_override_pattern has the letter 'X'; it may have M (a Mamba-2 mixer), * (an attention), - (a dense FFN), "
      "E (a mixture of experts)");
  CHECK(refusal(R"({"hidden_size": 64, "vocab_size": 9, "num_hidden_layers": 1, "hybrid_override_pattern": "M"})") ==
        "has no Mamba heads; looked for mamba_num_heads, mamba_n_heads");
  CHECK(refusal(field(R"("num_experts": -3)")) == "num_experts is '-3', not a count");
  CHECK(refusal(field(R"("num_experts": 8, "moe_layer_freq": [0, 1])")) == "moe_layer_freq has 2 entries for 4 layers");
}

TEST_CASE("Dense layers: by their number, by a list, by a step") {
  const auto moe = [](const std::string& keys) {
    std::string out;
    const Model m = import_hf("config.json", field("\"num_experts\": 8, " + keys), "m").model;
    for (std::int64_t i = 0; i < m.num_layers(); ++i) out += moe_of(m.layer(i)) ? '1' : '0';
    return out;
  };
  CHECK(moe(R"("first_k_dense_replace": 1)") == "0111");
  CHECK(moe(R"("moe_layer_freq": [0, 1, 0, 1])") == "0101");
  CHECK(moe(R"("moe_layer_freq": 2)") == "1010");
  CHECK(moe(R"("decoder_sparse_step": 2)") == "0101");
  CHECK(moe(R"("mlp_only_layers": [2])") == "1101");
}
