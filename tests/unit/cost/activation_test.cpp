#include <doctest/doctest.h>

#include <map>

#include "sim/cost/activation.h"
#include "tests/support/model_yaml.h"

using namespace tessella;

namespace {

std::map<std::string, double> by_name(const LayerKind& kind, const ActivationShape& shape, std::int64_t hidden) {
  std::map<std::string, double> sizes;
  for (const KeptTensor& t : kept_tensors(hidden, kind, shape)) sizes[t.name] = t.bytes;
  return sizes;
}

ActivationShape shape(std::int64_t tokens, std::int64_t tp = 1) {
  ActivationShape s;
  s.tokens = tokens;
  s.tp = tp;
  return s;
}

} // namespace

TEST_CASE("the hottest rank is charged in its expert tensors and nowhere else") {
  const Model m = test::public_model("deepseek_v3");
  ActivationShape hot = shape(4096);
  hot.hot_load = 2.0;
  const auto even = by_name(m.layer(60), shape(4096), m.hidden_size);
  for (const auto& [name, bytes] : by_name(m.layer(60), hot, m.hidden_size)) {
    const bool expert = name.starts_with("expert_") || name == "dispatched_permuted_in";
    CHECK(bytes == (expert ? 2.0 : 1.0) * even.at(name));
  }
}

TEST_CASE("expert tensor parallelism gathers tokens and splits widths") {
  const Model m = test::public_model("mixtral_8x7b");
  ActivationShape etp = shape(4096, 2);
  etp.etp = 2;
  const auto one = by_name(m.layer(0), shape(4096, 2), m.hidden_size);
  const auto two = by_name(m.layer(0), etp, m.hidden_size);
  CHECK(two.at("dispatched_permuted_in") == 2.0 * one.at("dispatched_permuted_in"));
  CHECK(two.at("expert_fc1_out") == one.at("expert_fc1_out"));
}

TEST_CASE("without sequence parallelism norms and routing hold every token") {
  const Model m = test::public_model("qwen3_30b_a3b");
  ActivationShape off = shape(4096, 4);
  off.sequence_parallel = false;
  const auto with = by_name(m.layer(0), shape(4096, 4), m.hidden_size);
  const auto without = by_name(m.layer(0), off, m.hidden_size);
  CHECK(without.at("layer_input") == 4.0 * with.at("layer_input"));
  CHECK(without.at("q") == with.at("q"));
}

TEST_CASE("a rank holds at least one key/value head") {
  const Model m = test::public_model("qwen3_next_80b_a3b"); // two of dimension 256
  CHECK(by_name(m.layer(3), shape(100, 2), m.hidden_size).at("k") == 2.0 * 100 * 256);
  CHECK(by_name(m.layer(3), shape(100, 8), m.hidden_size).at("k") == 2.0 * 100 * 256);
}

TEST_CASE("an output gate keeps the gate and the gated product") {
  const Model m = test::public_model("qwen3_next_80b_a3b");
  const auto t = by_name(m.layer(3), shape(100), m.hidden_size);
  CHECK(t.at("gate") == t.at("q"));
  CHECK(t.at("gated_attn_out") == t.at("attn_out"));
}

TEST_CASE("Gated DeltaNet, bytes per token by hand") {
  // q = 2048, u = 4096, 32 value heads of 128: convolution input 16384, normed qk 8192, repeated qk 16384, six tensors
  // of u (v, gate, core, norm, gated: five) 40960, decay 128, alpha and beta 128, chunk matrix 4096
  const LayerKind kind{"gdn", GatedDeltaNet{16, 32, 128, 128, 4}, DenseFfn{0, true}};
  double attention = 0.0;
  for (const KeptTensor& t : kept_tensors(2048, kind, shape(1)))
    if (t.name.starts_with("gdn_")) attention += t.bytes;
  CHECK(attention == 16384.0 + 8192.0 + 16384.0 + 5.0 * 8192.0 + 128.0 + 128.0 + 4096.0);
}

TEST_CASE("a window keeps what full attention keeps") {
  const Model m = test::public_model("gpt_oss_120b");
  CHECK(kept_bytes(m.hidden_size, m.layer(0), shape(4096), {}) ==
        kept_bytes(m.hidden_size, m.layer(1), shape(4096), {}));
}

TEST_CASE("moe recomputation keeps only what its checkpoint restarts from") {
  const Model m = test::public_model("qwen3_235b_a22b");
  const Recompute moe{RecomputeGranularity::selective, {RecomputeModule::moe}};
  const Recompute both{RecomputeGranularity::selective, {RecomputeModule::moe, RecomputeModule::moe_act}};
  const auto t = by_name(m.layer(0), shape(4096), m.hidden_size);
  const double block = t.at("router_probs") + t.at("permute_row_map") + t.at("dispatched_permuted_in") +
                       t.at("expert_fc1_out") + t.at("expert_act_out");
  const double all = kept_bytes(m.hidden_size, m.layer(0), shape(4096), {});
  CHECK(all - kept_bytes(m.hidden_size, m.layer(0), shape(4096), moe) == block);
  CHECK(kept_bytes(m.hidden_size, m.layer(0), shape(4096), both) ==
        kept_bytes(m.hidden_size, m.layer(0), shape(4096), moe)); // a tensor is freed once
}

TEST_CASE("a stage: layers, embedding, head, MTP") {
  Model m = test::public_model("deepseek_v3");
  const ActivationShape s = shape(1024, 2);
  const double dense = kept_bytes(m.hidden_size, m.layer(0), s, {});
  const double moe = kept_bytes(m.hidden_size, m.layer(60), s, {});
  CHECK(stage_activation(m, {2, 2, 0, false, false}, s, {}) == StageActivation{dense + moe, 0.0});
  CHECK(stage_activation(m, {0, 1, 0, true, false}, s, {}).kept == dense + 8.0 * 1024);
  const double logits = 6.0 * 1024 * 129280 / 2; // bf16 and fp32, split over TP
  const double rows = 2.0 * 512 * 7168;
  CHECK(stage_activation(m, {61, 0, 0, false, true}, s, {}) == StageActivation{2.0 * rows, logits});
  const StageActivation mtp = stage_activation(m, {61, 0, 1, false, true}, s, {});
  CHECK(mtp.loss == 2.0 * logits);
  CHECK(mtp.kept == 2.0 * rows + moe + rows + 8.0 * 1024 + (4.0 + 4.0 + 2.0) * 512 * 7168);
  CHECK(stage_activation(m, {}, s, {}) == StageActivation{});
}
