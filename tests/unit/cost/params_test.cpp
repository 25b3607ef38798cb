#include <doctest/doctest.h>

#include <array>

#include "sim/cost/params.h"
#include "tests/support/model_yaml.h"

using namespace tessella;

namespace {

GroupedQueryAttention gqa(std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim) {
  GroupedQueryAttention a;
  a.heads = heads;
  a.kv_heads = kv_heads;
  a.head_dim = head_dim;
  return a;
}

// h 8, V 10; two layers, the second with 4 experts of width 3 and a shared one of width 5.
Model tiny(bool tied) {
  Model m;
  m.hidden_size = 8;
  m.vocab_size = 10;
  m.tie_embeddings = tied;
  m.kinds = {{"dense", gqa(2, 1, 4), DenseFfn{6, true}}, {"moe", gqa(2, 1, 4), MoeFfn{4, 2, 3, true, false, false, 5}}};
  m.layers = {0, 1};
  return m;
}

constexpr std::int64_t kAttention = 8 * 8 + 2 * 8 * 4 + 8 * 8; // q, k and v, out
constexpr std::int64_t kDense = kAttention + 3 * 8 * 6 + 2 * 8;
constexpr std::int64_t kShared = 3 * 8 * 5;
constexpr std::int64_t kExpert = 3 * 8 * 3;
constexpr std::int64_t kMoe = kAttention + kShared + 8 * 4 + 4 * kExpert + 2 * 8;

Partition three_stages() {
  return {{{0, 1, 0, true, false}, {1, 1, 0, false, false}, {2, 0, 1, false, true}}};
}

} // namespace

TEST_CASE("a model by hand") {
  CHECK(model_size(tiny(false)) == ModelSize{2 * 80 + kDense + kMoe + 8, 2 * 80 + kDense + kMoe - 2 * kExpert + 8, 0});
  CHECK(model_size(tiny(true)).total == model_size(tiny(false)).total - 80);
}

TEST_CASE("biases, sinks and norms land in their buckets") {
  GroupedQueryAttention a = gqa(2, 1, 4);
  const ParamCount plain = attention_params(8, a);
  a.bias = a.output_bias = a.sinks = a.qk_norm = true;
  const ParamCount full = attention_params(8, a);
  CHECK(full.tp_sharded - plain.tp_sharded == 8 + 4 + 4 + 2); // q, k, v biases; one sink per head
  CHECK(full.replicated - plain.replicated == 8 + 2 * 4);     // output bias; q and k norms
  MoeFfn f{4, 2, 3, true, true, true};
  CHECK(ffn_params(8, f).routed == 4 * (kExpert + 6 + 8));
  CHECK(ffn_params(8, f).replicated == 8 * 4 + 4);
}

TEST_CASE("MLA repeats its down projections on every TP rank") {
  const MultiLatentAttention a{2, 3, 4, 5, 6, 7};
  const ParamCount p = attention_params(8, a);
  CHECK(p.replicated == 8 * 3 + 3 + 8 * (4 + 6) + 4);
  CHECK(p.tp_sharded == 3 * 2 * 11 + 4 * 2 * 12 + 2 * 7 * 8);
  MultiLatentAttention direct = a;
  direct.q_lora_rank.reset();
  CHECK(attention_params(8, direct).tp_sharded - p.tp_sharded == 8 * 2 * 11 - 3 * 2 * 11);
}

TEST_CASE("a rank gets its share of each bucket") {
  Model m = tiny(false);
  const Partition partition{{{0, 2, 0, true, true}}};
  const std::array<std::int32_t, 1> stage{0};
  const Parallelism p{4, 2, 1, 1, 1, 2, 2, true};
  const RankParams r = rank_params(m, partition, stage, p);
  CHECK(r.expert == 4 * kExpert / 4); // EP * ETP
  CHECK(r.vocabulary == 2 * 80 / 2);
  const std::int64_t sharded = 2 * kAttention + 3 * 8 * 6 + kShared;
  CHECK(r.dense == sharded / 2 + 80 + 2 * 16 + 8 * 4 + 8);
}

TEST_CASE("who holds embedding and head") {
  Model m = tiny(false);
  m.mtp_num_layers = 1;
  m.mtp_kind = 0;
  const Partition partition = three_stages();
  const Parallelism p;
  const auto vocabulary = [&](std::initializer_list<std::int32_t> stages) {
    const std::vector<std::int32_t> held(stages);
    return rank_params(m, partition, held, p).vocabulary;
  };
  CHECK(vocabulary({0}) == 80);
  CHECK(vocabulary({1}) == 0);
  CHECK(vocabulary({2}) == 160);    // the MTP block embeds the next tokens itself
  CHECK(vocabulary({0, 2}) == 160); // both ends on one rank share
  m.tie_embeddings = true;
  CHECK(vocabulary({2}) == 80);
  CHECK(vocabulary({0, 2}) == 80);
  m.tie_embeddings = false;

  const std::vector<std::int32_t> last{2};
  CHECK(rank_params(m, partition, last, p).dense == 160 + kDense + 2 * 8 * 8 + 3 * 8 + 8);
}

TEST_CASE("over all ranks of a pipeline every parameter is held once") {
  const Model m = test::public_model("qwen3_next_80b_a3b");
  Partition partition;
  for (std::int32_t s = 0; s < 4; ++s) partition.stages.push_back({12 * s, 12, 0, s == 0, s == 3});
  std::int64_t sum = 0;
  for (std::int32_t s = 0; s < 4; ++s) {
    const std::array<std::int32_t, 1> stage{s};
    const RankParams r = rank_params(m, partition, stage, Parallelism{});
    sum += r.dense + r.expert;
  }
  CHECK(sum == model_size(m).total);
}
