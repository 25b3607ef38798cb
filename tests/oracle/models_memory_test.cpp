// Peak memory: published model-state figures, in-flight counts of the real schedule, and training runs that did fit.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/cost/memory.h"
#include "tests/support/interleaved.h"
#include "tests/support/model_yaml.h"

using namespace tessella;

namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

double gib(Bytes b) {
  return static_cast<double>(b.count) / kGiB;
}

double off(double got, double want) {
  return std::abs(got / want - 1.0);
}

// Embedding first, MTP and loss last; all other cuts as even as they go, the embedding and the loss counting as a layer
// each when the layers alone do not divide (Megatron-LM's account_for_*_in_pipeline_split).
Partition even_partition(const Model& model, std::int64_t stages) {
  const bool account = stages > 1 && model.num_layers() % stages != 0;
  const std::int64_t slots = model.num_layers() + (account ? 2 : 0);
  Partition partition;
  std::int64_t next = 0;
  for (std::int64_t s = 0; s < stages; ++s) {
    StageContent c;
    c.embedding = s == 0;
    c.loss = s == stages - 1;
    c.first_layer = static_cast<std::int32_t>(next);
    const std::int64_t share = slots / stages + (s < slots % stages ? 1 : 0);
    c.num_layers = static_cast<std::int32_t>(share - (account && (c.embedding || c.loss) ? 1 : 0));
    if (c.loss) c.mtp_layers = static_cast<std::int32_t>(model.mtp_num_layers);
    next += c.num_layers;
    partition.stages.push_back(c);
  }
  return partition;
}

Scenario scenario(const char* model, const Parallelism& p, const Batch& batch, double gpu_gib) {
  Scenario s;
  s.model = test::public_model(model);
  s.parallelism = p;
  s.batch = batch;
  s.cluster.node.gpus = 8;
  s.profile.gpu.memory = Bytes{static_cast<std::int64_t>(gpu_gib * kGiB)};
  s.partition = even_partition(s.model, p.num_stages());
  return s;
}

Schedule schedule_of(const Scenario& s) {
  const Parallelism& p = s.parallelism;
  return test::interleaved_1f1b(p.pp, p.vpp, s.num_micro_batches(), p.vpp > 1 ? p.pp : 1);
}

// Even cuts only: what a user without a layout string gets.
std::optional<RunPlan> replan(const Scenario& s) {
  const Parallelism& p = s.parallelism;
  if (s.model.num_layers() % p.num_stages() != 0) return std::nullopt;
  if (s.batch.global_batch_size % (s.batch.micro_batch_size * p.dp()) != 0) return std::nullopt;
  return RunPlan{even_partition(s.model, p.num_stages()), schedule_of(s)};
}

} // namespace

TEST_CASE("DeepSeek-V3 model state, PP4 EP64 on 256 GPUs: 36.4 and 32.1 GB (arXiv 2603.07685)") {
  const Model model = test::public_model("deepseek_v3");
  const Parallelism p{256, 1, 1, 4, 4, 64, 1, true};
  Partition partition;
  partition.stages.push_back({10, 16, 0, false, false}); // 16 MoE layers and nothing else
  const std::int32_t stages[] = {0};
  const RankParams params = rank_params(model, partition, stages, p);
  CHECK(off(static_cast<double>(params.expert), 2.819e9) < 0.001);
  CHECK(off(static_cast<double>(params.dense), 3.698e9) < 0.01); // + router and norms, which the paper leaves out
  const RankMemory m = model_state(params, p, Optimizer{}, Precision::bf16);
  CHECK(off(gib(m.weights + m.gradients), 36.42) < 0.005);
  CHECK(off(gib(m.optimizer), 32.15) < 0.005);
  CHECK(off(gib(model_state({3698000000, 2819000000, 0}, p, {}, Precision::bf16).optimizer), 32.15) < 0.001);
}

TEST_CASE("DeepSeek-V3 in flight: 60 layer-microbatches by the estimator, 76 in the schedule") {
  // The estimator charges L_r (p-1) + (L_r / v)(p-1) = 16*3 + 4*3 = 60. Megatron's interleaved order warms up with
  // 2(p-1) + (v-1) N forwards and runs one more before its first backward: 2*3 + 3*4 + 1 = 19 chunks of 4 layers.
  const LayerKind layer{"moe", MultiLatentAttention{128, 1536, 512, 128, 64, 128},
                        MoeFfn{256, 8, 2048, true, false, false, 2048}};
  ActivationShape shape;
  shape.tokens = 4096;
  shape.probs_before_fc2 = false;
  const double one = kept_bytes(7168, layer, shape, {});
  CHECK(off(60.0 * one / kGiB, 131.0) < 0.001);

  const std::vector<StageActivation> stages(16, StageActivation{4.0 * one, 0.0});
  const Schedule schedule = test::interleaved_1f1b(4, 4, 16, 4);
  const LivePeak peak = peak_live(schedule.ranks[0], stages);
  CHECK(peak.chunks == 19);
  CHECK(peak.bytes == 76.0 * one);
  CHECK(off(peak.bytes / kGiB, 166.0) < 0.001);
  CHECK(peak_live(schedule.ranks[3], stages).chunks == 13); // the last rank: (v-1) N + 1
}

TEST_CASE("case 12: Llama-3-70B does not fit 8 x A100-80GB at any split") {
  CHECK(off(static_cast<double>(model_size(test::public_model("llama3_70b")).total), 70.55e9) < 0.01);
  for (const std::int64_t tp : {8, 4, 2, 1}) {
    CAPTURE(tp);
    const Parallelism p{8, tp, 1, 8 / tp, 1, 1, 1, true};
    const Scenario s = scenario("llama3_70b", p, Batch{1, 64, 8192}, 80.0);
    CHECK(s.profile.gpu.memory.count == 85899345920);
    const MemoryReport report = memory_report(s, schedule_of(s));
    double state = 0.0;
    for (const RankMemory& rank : report.ranks)
      state += static_cast<double>(rank.model_state().count) / static_cast<double>(report.ranks.size());
    CHECK(off(state, 158.7e9) < 0.01);
    CHECK_FALSE(report.fits);
  }

  const Scenario s = scenario("llama3_70b", Parallelism{8, 8, 1, 1, 1, 1, 1, true}, Batch{1, 64, 8192}, 80.0);
  const MemoryReport report = check_memory(s, schedule_of(s), replan);
  REQUIRE(report.smallest_world.has_value());
  // Twice and three times the GPUs leave at least 79 and 53 GB of model state on a rank beside 25 GB of activations
  // that 1F1B does not lower; 24 GPUs would need PP 3 or DP 3, which neither 80 layers nor a batch of 64 divide by.
  CHECK(*report.smallest_world == 32);
  CHECK(report.smallest_world_plan == "TP 8, PP 2, DP 2");
  const std::string text = verdict(report);
  CAPTURE(text);
  for (const char* word : {"does not fit", "model state", "158", "80", "offload", "32 GPUs"})
    CHECK(text.find(word) != std::string::npos);
}

TEST_CASE("public runs on 80 GB GPUs are found to fit") {
  using R = RecomputeModule;
  struct Run {
    const char* model;
    Parallelism p;
    Batch batch;
    Precision precision;
    std::vector<R> recompute;
  };
  const Run runs[] = {
      {"qwen3_235b_a22b", {256, 2, 1, 8, 4, 32, 1}, {1, 2048, 4096}, Precision::bf16, {R::moe_act, R::layernorm}},
      {"qwen3_235b_a22b", {256, 4, 1, 8, 4, 8, 1}, {1, 256, 16384}, Precision::bf16, {R::layernorm, R::moe}},
      {"qwen3_235b_a22b", {256, 4, 8, 8, 4, 8, 1}, {1, 256, 131072}, Precision::bf16, {R::layernorm, R::moe}},
      {"qwen3_next_80b_a3b",
       {128, 1, 1, 4, 3, 32, 1},
       {1, 256, 4096},
       Precision::bf16,
       {R::layernorm, R::moe_act, R::shared_experts}},
      {"deepseek_v3", {1024, 2, 1, 8, 4, 64, 1}, {1, 8192, 4096}, Precision::fp8, {R::mla_up_proj, R::mlp}},
      {"gpt_oss_120b", {64, 1, 1, 4, 1, 8, 1}, {1, 1280, 4096}, Precision::bf16, {}},
  };
  for (const Run& run : runs) {
    Scenario s = scenario(run.model, run.p, run.batch, 80.0);
    s.precision = run.precision;
    if (!run.recompute.empty()) s.recompute = {RecomputeGranularity::selective, run.recompute};
    const MemoryReport report = memory_report(s, schedule_of(s));
    CAPTURE(std::string(run.model));
    const std::string text = verdict(report);
    CAPTURE(text);
    CHECK(report.fits);
  }
}
