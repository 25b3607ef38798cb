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
