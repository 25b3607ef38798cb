// One test per rule. Every violation must carry both numbers; every suggestion is what a user would paste.
#include "sim/domain/legality.h"

#include <doctest/doctest.h>

#include "tests/support/legality_plan.h"

using namespace tessella;
using namespace tessella::test;

namespace {

TestPlan moe_plan() {
  TestPlan p;
  p.model = uniform_model(moe_kind(), 32);
  p.parallelism = {.world_size = 64, .tp = 2, .pp = 4, .ep = 8};
  return p;
}

std::string first_key(const Verdict& v) {
  return v.violations.empty() ? "" : v.violations[0].key;
}

} // namespace

TEST_CASE("the plans that tests start from are legal and silent") {
  CHECK(TestPlan{}.check().legal());
  const Verdict v = moe_plan().check();
  CHECK(errors(v) == "");
  CHECK(warnings(v) == "");
  CHECK(layers_per_stage(v.partition) == std::vector<std::int64_t>{8, 8, 8, 8});
}

TEST_CASE("sizes must be positive, and nothing is divided by zero") {
  TestPlan p;
  p.parallelism.pp = 0;
  p.batch.micro_batch_size = -3;
  const Verdict v = p.check();
  CHECK(v.violations.size() == 2);
  CHECK(mentions(errors(v), {"pipeline_model_parallel_size is 0", "micro_batch_size is -3"}));
}

TEST_CASE("absurd sizes do not overflow") {
  TestPlan p;
  const std::int64_t huge = std::int64_t{1} << 62;
  p.parallelism = {.world_size = 1'000'000'000, .tp = huge, .cp = huge, .pp = huge, .vpp = huge};
  p.batch = {huge, huge, huge};
  CHECK_FALSE(p.check().legal());
}

TEST_CASE("the world must fit the cluster") {
  TestPlan p;
  p.parallelism = {.world_size = 100, .tp = 8};
  p.cluster_gpus = 64;
  const Verdict v = p.check();
  CHECK(mentions(errors(v), {"100", "64 GPUs"}));
  CHECK(v.violations[0].suggestion == "world_size: 64");
  p.parallelism.world_size = 32;
  CHECK(mentions(warnings(p.check()), {"32 of the cluster's 64"}));
}

TEST_CASE("dense grid") {
  TestPlan p;
  p.parallelism = {.world_size = 100, .tp = 8, .pp = 4};
  Verdict v = p.check();
  CHECK(first_key(v) == "parallelism.world_size");
  CHECK(mentions(errors(v), {"100", "8 * 1 * 4 = 32"}));
  CHECK(v.violations[0].suggestion == "world_size: 128"); // 96 leaves DP 3, which does not divide the batch of 64
  p.cluster_gpus = 100;
  v = p.check();
  CHECK(v.violations[0].suggestion == "world_size: 64");
  p.parallelism = {.world_size = 8, .tp = 4, .pp = 4};
  p.cluster_gpus = 8;
  v = p.check();
  CHECK(v.violations[0].suggestion == "pipeline_model_parallel_size: 2");
}

TEST_CASE("the two grids must nest") {
  TestPlan p = moe_plan();
  p.model.kinds[0].ffn = MoeFfn{.num_experts = 48, .router_topk = 8, .moe_ffn_hidden_size = 1536};
  p.parallelism = {.world_size = 96, .tp = 4, .pp = 4, .ep = 6};
  p.batch.global_batch_size = 96;
  const Verdict v = p.check();
  CHECK(mentions(errors(v), {"TP * CP = 4 * 1 = 4", "ETP * EP = 1 * 6 = 6", "Tessella"}));
  CHECK(v.violations[0].suggestion == "expert_model_parallel_size: 8");
}

TEST_CASE("experts: EP divides them, top-k does not exceed them, a dense model has none") {
  TestPlan p = moe_plan();
  p.model.kinds[0].ffn = MoeFfn{.num_experts = 60, .router_topk = 4, .moe_ffn_hidden_size = 1536};
  Verdict v = p.check();
  CHECK(mentions(errors(v), {"num_experts", "60", "expert_model_parallel_size 8"}));
  CHECK(v.violations[0].suggestion == "expert_model_parallel_size: 4"); // 10 and 6 break the grids

  p.model.kinds[0].ffn = MoeFfn{.num_experts = 8, .router_topk = 9, .moe_ffn_hidden_size = 1536};
  CHECK(mentions(errors(p.check()), {"router_topk 9", "num_experts 8"}));
  p.model.kinds[0].ffn = MoeFfn{
      .num_experts = 64, .router_topk = 8, .moe_ffn_hidden_size = 1536, .router_groups = 6, .router_topk_groups = 7};
  CHECK(mentions(errors(p.check()), {"num_experts 64", "router_groups 6", "router_topk_groups 7"}));

  p = moe_plan();
  p.model.kinds.push_back(moe_kind(128, 8));
  p.model.layers[3] = 1;
  CHECK(mentions(errors(p.check()), {"8 of 128", "8 of 64", "Tessella"}));

  TestPlan dense;
  dense.parallelism = {.world_size = 8, .ep = 4, .etp = 2};
  v = dense.check();
  CHECK(v.violations.size() == 2);
  CHECK(mentions(errors(v), {"expert_model_parallel_size is 4", "expert_tensor_parallel_size is 2", "0 experts"}));
  dense.parallelism = {.world_size = 8, .tp = 2, .etp = 2};
  dense.etp_was_defaulted = true;
  CHECK(dense.check().legal());
  CHECK(dense.check().warnings.empty());
}

TEST_CASE("TP divides heads and widths, ETP the experts' width") {
  TestPlan p;
  p.parallelism = {.world_size = 48, .tp = 3};
  p.batch.global_batch_size = 16;
  Verdict v = p.check();
  CHECK(mentions(errors(v), {"hidden_size 4096", "heads of layer kind 'dense' 64", "tensor_model_parallel_size 3",
                             "ffn_hidden_size of layer kind 'dense' 16384"}));
  CHECK(mentions(suggestions(v), {"tensor_model_parallel_size: "}));

  p = moe_plan();
  p.model.kinds[0].ffn =
      MoeFfn{.num_experts = 64, .router_topk = 8, .moe_ffn_hidden_size = 1532, .shared_ffn_hidden_size = 1533};
  p.parallelism = {.world_size = 64, .tp = 2, .pp = 4, .ep = 2, .etp = 8};
  v = p.check();
  CHECK(mentions(errors(v), {"moe_ffn_hidden_size of layer kind 'moe' 1532", "expert_tensor_parallel_size 8",
                             "shared_ffn_hidden_size of layer kind 'moe' 1533", "tensor_model_parallel_size 2"}));

  p = TestPlan{};
  p.parallelism = {.world_size = 2, .tp = 2};
  p.model.kinds[0].attention = GatedDeltaNet{15, 32, 128, 128, 4};
  CHECK(mentions(errors(p.check()), {"key_heads", "15", "2"}));
  p.model.kinds[0].attention = MultiLatentAttention{127, 1536, 512, 128, 64, 128};
  CHECK(mentions(errors(p.check()), {"heads", "127", "2"}));
  p.model.kinds[0].attention = Mamba2{127, 64, 128, 1, 4, 128};
  CHECK(mentions(errors(p.check()), {"mamba_num_heads", "127", "2"}));
  CHECK(mentions(errors(p.check()), {"n_groups of layer kind 'dense' 1", "2"}));
  p.model.kinds[0] = {"mixer", Mamba2{128, 64, 128, 8, 4, 128}, NoFfn{}};
  CHECK(p.check().legal());
  p.model.kinds[0] = {"ffn", NoAttention{}, DenseFfn{.ffn_hidden_size = 16384}};
  CHECK(p.check().legal());
  p.recompute = {RecomputeGranularity::selective, {RecomputeModule::mlp}};
  CHECK(p.check().warnings.empty());
  p.model.kinds[0] = {"mixer", Mamba2{128, 64, 128, 8, 4, 128}, NoFfn{}}; // a mixer alone has no FFN to recompute
  CHECK(!p.check().warnings.empty());
}

TEST_CASE("fewer key/value heads than TP are replicated, with a warning") {
  TestPlan p;
  p.parallelism = {.world_size = 16, .tp = 16};
  Verdict v = p.check();
  CHECK(v.legal());
  CHECK(mentions(warnings(v), {"8 key/value heads", "16", "2 ranks"}));
  p.model.kinds[0].attention = gqa(64, 6);
  CHECK(mentions(errors(p.check()), {"kv_heads", "6", "16"}));
}

TEST_CASE("sequence length against CP and sequence parallelism") {
  TestPlan p;
  p.parallelism = {.world_size = 16, .tp = 2, .cp = 4};
  p.batch.seq_length = 4092;
  Verdict v = p.check();
  CHECK(mentions(errors(v), {"seq_length 4092", "2 * context_parallel_size = 2 * 4 = 8"}));
  CHECK(v.violations[0].suggestion == "seq_length: 4088"); // both neighbours are 4 away
  p.batch.seq_length = 3;
  CHECK(p.check().violations[0].suggestion == "seq_length: 8");
  p.parallelism = {.world_size = 16, .tp = 16};
  p.batch.seq_length = 4097;
  CHECK(mentions(errors(p.check()), {"sequence parallelism", "4097", "1 * 16 = 16"}));
  p.parallelism.sequence_parallel = false;
  CHECK(p.check().legal());
}

TEST_CASE("MoE with TP needs sequence parallelism") {
  TestPlan p = moe_plan();
  p.parallelism.sequence_parallel = false;
  CHECK(mentions(errors(p.check()), {"sequence_parallel", "tensor_model_parallel_size 2"}));
  CHECK(p.check().violations[0].suggestion == "sequence_parallel: true");
}

TEST_CASE("global batch is a multiple of micro-batch times DP") {
  TestPlan p;
  p.parallelism = {.world_size = 16, .tp = 2};
  p.batch = {3, 65, 4096};
  Verdict v = p.check();
  CHECK(mentions(errors(v), {"global_batch_size 65", "3 * 8 = 24"}));
  CHECK(v.violations[0].suggestion == "global_batch_size: 72");
  p.batch = {3, 72, 4096};
  CHECK(p.check().legal());
}

TEST_CASE("virtual stages need a pipeline") {
  TestPlan p;
  p.parallelism = {.world_size = 4, .vpp = 2};
  const Verdict v = p.check();
  CHECK(mentions(errors(v), {"2 virtual stages", "it is 1"}));
  CHECK(v.violations[0].suggestion == "num_virtual_stages_per_pipeline_rank: 1");
}

TEST_CASE("interleaved 1F1B: groups of micro-batches") {
  TestPlan p;
  p.parallelism = {.world_size = 4, .pp = 4, .vpp = 2};
  p.schedule.name = "interleaved_1f1b";
  p.batch.global_batch_size = 9;
  Verdict v = p.check();
  CHECK(mentions(errors(v), {"9 microbatches in groups of 4", "last group of 1", "pipeline_model_parallel_size 4"}));
  CHECK(v.violations[0].suggestion == "global_batch_size: 8");
  p.batch.global_batch_size = 3;
  v = p.check();
  CHECK(mentions(errors(v), {"group_size_per_vp_stage 4", "3 microbatches"}));
  CHECK(v.violations[0].suggestion == "global_batch_size: 4");
  p.batch.global_batch_size = 16;
  p.schedule.microbatch_group_size = 3;
  CHECK(mentions(errors(p.check()), {"3 is less than", "4"}));
  p.schedule.microbatch_group_size = 6; // 16 = 6 + 6 + 4, and 4 >= PP
  CHECK(p.check().legal());
  p.schedule.microbatch_group_size = 7; // 16 = 7 + 7 + 2
  CHECK(mentions(errors(p.check()), {"16 microbatches in groups of 7", "last group of 2"}));
  p.schedule.name = "1f1b"; // the same with several chunks per rank
  CHECK_FALSE(p.check().legal());
  p.parallelism.vpp = 1;
  CHECK(p.check().legal());
}

TEST_CASE("EP overlap requirements") {
  TestPlan p = moe_plan();
  p.parallelism.vpp = 2;
  p.schedule.name = "interleaved_1f1b";
  p.schedule.overlap_moe_expert_parallel_comm = true;
  p.schedule.delay_wgrad_compute = true;
  CHECK(errors(p.check()) == "");

  TestPlan q = p;
  q.parallelism.vpp = 1;
  CHECK(mentions(errors(q.check()), {"pipeline_model_parallel_size 4", "at least 2 virtual stages"}));
  q = p;
  q.parallelism.ep = 1;
  CHECK(mentions(errors(q.check()), {"expert_model_parallel_size of at least 2, it is 1"}));
  q = p;
  q.dispatcher = Dispatcher::allgather;
  CHECK(mentions(errors(q.check()), {"alltoall", "allgather"}));
  q = p;
  q.recompute.granularity = RecomputeGranularity::full;
  CHECK(mentions(errors(q.check()), {"recompute granularity full"}));
  q = p;
  q.recompute = {RecomputeGranularity::selective, {RecomputeModule::moe}};
  CHECK(mentions(errors(q.check()), {"recompute module moe"}));
  q = p;
  q.model.mtp_num_layers = 2;
  CHECK(mentions(errors(q.check()), {"at most 1 MTP layer", "2"}));
  q = p;
  q.schedule.overlap_moe_expert_parallel_comm = false;
  CHECK(first_key(q.check()) == "schedule.delay_wgrad_compute");
  q = p;
  q.parallelism = {.world_size = 16, .tp = 2, .ep = 8};
  CHECK(errors(q.check()) == ""); // no pipeline, no virtual stages needed
}

TEST_CASE("recompute modules must exist in the model") {
  TestPlan p;
  p.recompute = {RecomputeGranularity::selective,
                 {RecomputeModule::mla_up_proj, RecomputeModule::layernorm, RecomputeModule::moe,
                  RecomputeModule::moe_act, RecomputeModule::shared_experts}};
  const Verdict v = p.check();
  CHECK(v.violations.size() == 4);
  CHECK(mentions(errors(v), {"mla_up_proj needs multi-latent attention", "moe needs MoE", "moe_act needs MoE",
                             "shared_experts needs shared experts"}));
  CHECK(v.violations[0].suggestion == "modules: [layernorm]");
  p.recompute.modules = {RecomputeModule::mla_up_proj};
  CHECK(p.check().violations[0].suggestion == "granularity: none");
  p.recompute.granularity = RecomputeGranularity::full;
  CHECK(p.check().legal());
  CHECK(mentions(warnings(p.check()), {"ignored"}));
  TestPlan moe = moe_plan();
  moe.recompute = {RecomputeGranularity::selective, {RecomputeModule::moe_act, RecomputeModule::mlp}};
  CHECK(moe.check().legal());
  CHECK(mentions(warnings(moe.check()), {"mlp has no effect"}));
}
