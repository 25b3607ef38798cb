// tessella import, as a user runs it: what is written is checked and simulated by the other commands.
#include <doctest/doctest.h>

#include "sim/config/load.h"
#include "tests/support/process.h"

using namespace tessella;
using namespace tessella::testing;

TEST_CASE("A config.json becomes a model file under the name of its folder") {
  const TempFolder folder;
  const std::string config = folder.write("Some-MoE/config.json", R"({"model_type": "glm_moe_dsa", "hidden_size": 512,
    "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 1000, "n_routed_experts": 8, "num_experts": 256,
    "num_experts_per_tok": 2, "moe_intermediate_size": 256})");
  const Ran ran = run_command({"import", "hf", config});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  const Model model = load_model_text("out", ran.out);
  CHECK(model.name == "Some-MoE");
  CHECK(moe_of(model.kinds[0])->num_experts == 8);
  CHECK(ran.err.find("n_routed_experts is 8 and num_experts is 256") != std::string::npos);
  CHECK(run_command({"import", "hf", folder.write("x/config.json", "{}")}).code == 2);
}

TEST_CASE("Megatron flags become an experiment and a model that run as they are") {
  const TempFolder folder;
  const std::string script = folder.write("train.sh", R"(
    ARGS="--num-layers 8 --hidden-size 512 --num-attention-heads 8 --vocab-size 32000 --swiglu
      --untie-embeddings-and-output-weights --num-experts 8 --moe-ffn-hidden-size 256 --moe-token-dispatcher-type alltoall"
    torchrun $ARGS --pipeline-model-parallel-size $PP --expert-model-parallel-size 4 --bf16 --lr 1 \
      --micro-batch-size 1 --global-batch-size 16 --seq-length 512 --use-distributed-optimizer)");
  const Ran ran = run_command({"import", "megatron", script, "PP=2 WORLD_SIZE=8", "-o", folder / "e.yaml"});
  CHECK_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.err.find("ignored, no effect on the cost of a step: --lr") != std::string::npos);
  const Ran run = run_command({"run", folder / "e.yaml", "--json", "-"});
  CHECK_MESSAGE(run.code == 0, run.err);
  CHECK(run.out.find("\"pipeline_model_parallel_size\": 2") != std::string::npos);
  const Ran missing = run_command({"import", "megatron", script, "WORLD_SIZE=8", "-o", folder / "e.yaml"});
  CHECK(missing.code == 2);
  CHECK(missing.err.find("'$PP', a variable without a value") != std::string::npos);
}

TEST_CASE("An exported Chakra trace is imported as what the rank sends") {
  const TempFolder folder;
  const std::string experiment = "experiments/00_template/experiment.yaml";
  const Ran written = run_command({"export", "chakra", experiment, "--ranks", "0,5", "-o", folder / "workload"});
  REQUIRE_MESSAGE(written.code == 0, written.err);
  CHECK(written.out.find("workload.5.et: ") != std::string::npos);
  for (const char* file : {"workload.0.et", "workload.5.et"}) {
    const Ran read = run_command({"import", "chakra", folder / file, "--csv", "-"});
    CHECK_MESSAGE(read.code == 0, read.err);
    CHECK(read.out.find("ALL_TO_ALL,,ep,") != std::string::npos);
    CHECK(read.out.find("SEND,,,") != std::string::npos);
    CHECK(read.err.find("schema 0.0.4") != std::string::npos);
    CHECK(read.err.find("do not say their size") == std::string::npos);
  }
  const Ran far = run_command({"export", "chakra", experiment, "--ranks", "99999", "-o", folder / "x"});
  CHECK(far.code == 2);
  CHECK(far.err.find("--ranks: error: rank 99999 does not exist") != std::string::npos);
  CHECK(run_command({"export", "chakra", experiment, "-o", folder / "nowhere/x"}).code == 2);
  // The first of several steps, though something happens in a later one.
  const Ran later = run_command({"export", "chakra", experiment, "--set", "simulation.steps=4", "--set",
                                 "events=[{steps: 2, slow_gpu: {rank: 1, factor: 1.3}}]", "-o", folder / "later"});
  CHECK_MESSAGE(later.code == 0, later.err);
  CHECK(read_text_file(folder / "later.0.et") == read_text_file(folder / "workload.0.et"));
}

namespace {

// What the public launch scripts of a model set, without what has no effect on a step.
struct Recipe {
  const char* name;
  const char* script;
  const char* variables; // that its users export
  const char* shipped;   // the model it must be
};

const Recipe kRecipes[] = {
    {"mixtral_8x7b, Megatron-LM",
     R"(MODEL_ARGS=( --use-mcore-models --seq-length 4096 --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336
       --num-attention-heads 32 --swiglu --untie-embeddings-and-output-weights --group-query-attention
       --num-query-groups 8 --normalization RMSNorm --vocab-size 32000 )
       MOE_ARGS=( --num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss --moe-grouped-gemm
       --moe-token-dispatcher-type alltoall --overlap-param-gather --overlap-grad-reduce )
       PARALLEL=( --tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 --expert-model-parallel-size 8
       --use-distributed-optimizer --sequence-parallel )
       torchrun --nproc_per_node ${GPUS_PER_NODE:-8} --nnodes $NNODES pretrain_gpt.py ${MODEL_ARGS[@]} ${MOE_ARGS[@]} \
       --micro-batch-size 1 --global-batch-size 256 --bf16 ${PARALLEL[@]})",
     "NNODES=8", "mixtral_8x7b"},
    {"qwen3_30b_a3b, ModelZoo",
     R"(torchrun pretrain_gpt.py --num-layers 48 --hidden-size 2048 --ffn-hidden-size 6144 --num-attention-heads 32
       --group-query-attention --num-query-groups 4 --kv-channels 128 --qk-layernorm --swiglu --vocab-size 151936
       --untie-embeddings-and-output-weights --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 768
       --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep --moe-router-force-load-balancing
       --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --expert-model-parallel-size $EP
       --expert-tensor-parallel-size 1 --micro-batch-size 1 --global-batch-size 512 --seq-length 4096 --bf16
       --use-distributed-optimizer --recompute-granularity selective --recompute-modules moe_act layernorm)",
     "TP=1 PP=1 EP=8 NNODES=4", "qwen3_30b_a3b"},
    {"qwen3_235b_a22b, ModelZoo",
     R"(torchrun pretrain_gpt.py --num-layers 94 --hidden-size 4096 --ffn-hidden-size 12288 --num-attention-heads 64
       --group-query-attention --num-query-groups 4 --kv-channels 128 --qk-layernorm --swiglu --vocab-size 151936
       --untie-embeddings-and-output-weights --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 1536
       --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep --moe-router-force-load-balancing
       --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --expert-model-parallel-size $EP
       --num-virtual-stages-per-pipeline-rank $VPP --expert-tensor-parallel-size 1 --sequence-parallel
       --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split
       --micro-batch-size 1 --global-batch-size 256 --seq-length 4096 --bf16 --use-distributed-optimizer
       --recompute-granularity selective --recompute-modules moe_act layernorm)",
     "TP=2 PP=8 VPP=4 EP=32 NNODES=32", "qwen3_235b_a22b"},
    {"deepseek_v3, ModelZoo",
     R"(torchrun pretrain_gpt.py --num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128
       --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64
       --v-head-dim 128 --swiglu --untie-embeddings-and-output-weights --vocab-size 129280 --num-experts 256
       --moe-router-topk 8 --moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048
       --moe-layer-freq '([0]*3+[1]*58)' --moe-router-num-groups 8 --moe-router-group-topk 4 --mtp-num-layers 1 --moe-router-enable-expert-bias
       --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep --moe-router-force-load-balancing
       --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --expert-model-parallel-size $EP
       --num-virtual-stages-per-pipeline-rank $VPP --pipeline-model-parallel-layout 'Et*3|(tt|)*29m|L'
       --expert-tensor-parallel-size 1 --sequence-parallel --micro-batch-size 1 --global-batch-size 2048
       --seq-length 4096 --bf16 --use-distributed-optimizer --recompute-granularity selective
       --recompute-modules mla_up_proj moe_act layernorm mlp)",
     "TP=2 PP=8 VPP=4 EP=64 NNODES=128", "deepseek_v3"},
};

} // namespace

TEST_CASE("The flags of public recipes import as the models we ship, and run") {
  for (const Recipe& recipe : kRecipes) {
    INFO(std::string(recipe.name));
    const TempFolder folder;
    const std::string script = folder.write("train.sh", recipe.script);
    const Ran ran = run_command({"import", "megatron", script, recipe.variables, "-o", folder / "e.yaml"});
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    CHECK_MESSAGE(ran.err.find("not known") == std::string::npos, ran.err);
    const Model ours = load_model(std::string("models/") + recipe.shipped + ".yaml");
    const Model theirs = load_model(folder / "e.model.yaml");
    CHECK(theirs.kinds == ours.kinds);
    CHECK(theirs.layers == ours.layers);
    const Ran run = run_command({"run", folder / "e.yaml"});
    CHECK_MESSAGE((run.code == 0 || run.code == 3), run.err); // 3: runs, but not into 80 GiB
    CHECK(run.out.find("step time") != std::string::npos);
  }
}
