#include <doctest/doctest.h>

#include <algorithm>

#include "sim/base/error.h"
#include "sim/config/experiment.h"
#include "sim/config/import_megatron.h"
#include "sim/config/load.h"

using namespace tessella;

namespace {

ImportedExperiment import(const std::string& text, bool with_model = false) {
  MegatronSettings settings;
  settings.name = "e";
  if (with_model) settings.model = "qwen3_235b_a22b";
  return import_megatron({{"args", text}}, settings, "e.model.yaml");
}

std::string refusal(const std::string& text) {
  try {
    import(text);
  } catch (const InputError& error) {
    return format_error(error);
  }
  return "accepted";
}

const std::string kModel = "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --vocab-size 1000 --swiglu ";
const std::string kRun = "--micro-batch-size 1 --global-batch-size 8 --seq-length 1024 --bf16 WORLD_SIZE=8 ";

const char* const kScript = R"(#!/bin/bash
# One of the public recipes, as people keep it.
export NNODES=${NNODES:-32}
TP=2; PP=8
MBS=1
GPUS_PER_NODE=8
MODEL_ARGS=(
    --use-mcore-models
    --num-layers 94 --hidden-size 4096
    --ffn-hidden-size 12288
    --num-attention-heads 64 --group-query-attention --num-query-groups 4 --kv-channels 128
    --qk-layernorm --swiglu --untie-embeddings-and-output-weights
    --vocab-size 151936
)
MOE_ARGS="
    --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 1536
    --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep
    --moe-router-force-load-balancing
"
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes ${NNODES} pretrain_gpt.py \
    ${MODEL_ARGS[@]} $MOE_ARGS \
    --tensor-model-parallel-size $TP --pipeline-model-parallel-size ${PP} \
    --num-layers-per-virtual-pipeline-stage 3 --expert-model-parallel-size 32 --expert-tensor-parallel-size 1 \
    --sequence-parallel --micro-batch-size ${MBS} --global-batch-size=2048 --seq-length 4096 --bf16 \
    --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split \
    --recompute-granularity selective --recompute-modules moe_act layernorm \
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
    --lr 1e-4 --data-path /data/x --log-interval 1 --some-new-flag 3 && echo done
)";

} // namespace

TEST_CASE("A launch script becomes an experiment; its model is the one we ship") {
  std::string script = kScript;
  // 96 slots with embedding and loss: 8 x 3 divides the layers only by way of --num-virtual-stages.
  script.replace(script.find("--num-layers-per-virtual-pipeline-stage 3"), 41,
                 "--num-virtual-stages-per-pipeline-rank 4");
  const ImportedExperiment imported = import(script);
  const Experiment e = read_experiment("e.yaml", imported.yaml);
  CHECK(e.world_size == 256);
  CHECK(e.draft.parallelism.tp == 2);
  CHECK(e.draft.parallelism.pp == 8);
  CHECK(e.vpp == 4);
  CHECK(e.draft.parallelism.ep == 32);
  CHECK(e.etp == 1);
  CHECK(e.draft.parallelism.sequence_parallel);
  CHECK(e.draft.batch == Batch{1, 2048, 4096});
  CHECK(e.draft.dispatcher == Dispatcher::deepep);
  CHECK(e.draft.routing.kind == RoutingKind::balanced);
  CHECK(e.draft.schedule.name == "interleaved_1f1b");
  CHECK(e.draft.recompute ==
        Recompute{RecomputeGranularity::selective, {RecomputeModule::moe_act, RecomputeModule::layernorm}});
  CHECK(e.draft.optimizer == Optimizer{true, true, true});
  CHECK(e.layout.account_for_loss_in_pipeline_split);
  REQUIRE(imported.model);
  const Model ours = load_model("models/qwen3_235b_a22b.yaml");
  CHECK(imported.model->layers == ours.layers);
  CHECK(imported.model->kinds == ours.kinds);
  CHECK(imported.unknown == std::vector<std::string>{"--some-new-flag"});
  for (const char* flag : {"--lr", "--data-path", "--log-interval"})
    CHECK(std::find(imported.ignored.begin(), imported.ignored.end(), flag) != imported.ignored.end());
}

TEST_CASE("Layers per virtual stage become virtual stages; a rest is an error") {
  const ImportedExperiment imported =
      import(kModel + kRun + "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1");
  CHECK(read_experiment("e.yaml", imported.yaml).vpp == 2);
  CHECK(refusal(kScript).find("94 layers are not a multiple of 3 x 8 pipeline ranks") != std::string::npos);
}

TEST_CASE("A line of variables is enough when the model is named") {
  const ImportedExperiment imported = import("TP=2 PP=8 VPP=4 EP=64 NNODES=128 GBS=8192 MBS=1 SEQ_LEN=4096", true);
  const Experiment e = read_experiment("e.yaml", imported.yaml);
  CHECK(e.model.text == "qwen3_235b_a22b");
  CHECK(e.world_size == 1024);
  CHECK(e.draft.parallelism.ep == 64);
  CHECK(e.vpp == 4);
  CHECK(e.topology.text == "h100_rail_1024");
}

TEST_CASE("ModelZoo YAML: placeholders, switches, lists and layer frequencies") {
  const std::string zoo = R"(ENV_VARS:
  TP: 1
MODEL_ARGS:
  --num-layers: 61
  --hidden-size: 7168
  --ffn-hidden-size: 18432
  --num-attention-heads: 128
  --multi-latent-attention: true
  --q-lora-rank: 1536
  --kv-lora-rank: 512
  --qk-head-dim: 128
  --qk-pos-emb-head-dim: 64
  --v-head-dim: 128
  --num-experts: 256
  --moe-router-topk: 8
  --moe-ffn-hidden-size: 2048
  --moe-shared-expert-intermediate-size: 2048
  --moe-layer-freq: ([0]*3+[1]*58)
  --moe-router-num-groups: 8
  --moe-router-group-topk: 4
  --moe-router-enable-expert-bias: true
  --mtp-num-layers: 1
  --swiglu: true
  --untie-embeddings-and-output-weights: true
  --sequence-parallel: false
  --vocab-size: 129280
  --tensor-model-parallel-size: ${TP}
  --expert-model-parallel-size: ${EP}
  --micro-batch-size: 1
  --global-batch-size: ${GBS}
  --seq-length: 4096
  --recompute-granularity: selective
  --recompute-modules: mla_up_proj layernorm
  --bf16: true
)";
  MegatronSettings settings;
  settings.name = "v3";
  const ImportedExperiment imported =
      import_megatron({{"zoo.yaml", zoo}, {"arguments", "EP=64 GBS=8192 NNODES=128"}}, settings, "v3.model.yaml");
  const Model ours = load_model("models/deepseek_v3.yaml");
  REQUIRE(imported.model);
  CHECK(imported.model->kinds == ours.kinds);
  CHECK(imported.model->layers == ours.layers);
  CHECK(imported.model->mtp_num_layers == 1);
  const Experiment e = read_experiment("e.yaml", imported.yaml);
  CHECK(e.draft.parallelism.ep == 64);
  CHECK(e.draft.recompute.modules.size() == 2);
}

TEST_CASE("What balances the router and how much its experts accept comes along") {
  const auto routing = [](const std::string& more) {
    const std::string moe =
        "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 512 --expert-model-parallel-size 4 ";
    return read_experiment("e.yaml", import(kModel + kRun + moe + more).yaml).draft.routing;
  };
  CHECK(routing("").balancing == Balancing::aux_loss);
  CHECK(routing("--moe-router-load-balancing-type seq_aux_loss").balancing == Balancing::aux_loss);
  CHECK(routing("--moe-router-load-balancing-type global_aux_loss").balancing == Balancing::global_batch);
  CHECK(routing("--moe-router-load-balancing-type none").balancing == Balancing::none);
  CHECK(routing("--moe-router-load-balancing-type none --moe-router-enable-expert-bias").balancing ==
        Balancing::loss_free_bias);
  CHECK_FALSE(routing("--moe-router-force-load-balancing").balancing);
  const RoutingSpec tight = routing("--moe-expert-capacity-factor 1.25 --moe-pad-expert-input-to-capacity");
  CHECK(tight.capacity_factor == 1.25);
  CHECK(tight.pad_to_capacity);
  CHECK_FALSE(routing("").capacity_factor);
}

TEST_CASE("What cannot be imported says why") {
  CHECK(refusal(kModel + kRun + "--use-megatron-fsdp").find("--use-megatron-fsdp: error: changes what a step costs") !=
        std::string::npos);
  CHECK(refusal(kModel + "--micro-batch-size 1 --seq-length 8 WORLD_SIZE=8")
            .find("is missing; looked for --global-batch-size, GBS=..., GLOBAL_BATCH_SIZE=...") != std::string::npos);
  CHECK(refusal(kModel + kRun + "--expert-model-parallel-size $EP").find("'$EP', a variable without a value") !=
        std::string::npos);
  CHECK(refusal(kModel + kRun + "--num-experts many").find("'many' is not a count") != std::string::npos);
  CHECK(refusal(kModel + kRun + "--num-experts 8 --moe-layer-freq [1]*3")
            .find("describes 3 layers, --num-layers says 4") != std::string::npos);
  CHECK(refusal("--a 'b").find("a ' is not closed") != std::string::npos);
}
