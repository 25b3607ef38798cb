#include "sim/config/load.h"

#include <doctest/doctest.h>

#include <string>

#include "sim/base/sha256.h"
#include "sim/config/experiment.h"
#include "sim/config/source.h"

using namespace tessella;

namespace {

const std::string kModel = R"(
model: mixed
source: "test"
hidden_size: 2048
vocab_size: 151936
tie_embeddings: true
kinds:
  gdn_moe:
    attention: {type: gated_delta_net, key_heads: 16, value_heads: 32, key_head_dim: 128, value_head_dim: 64, conv_kernel: 4}
    ffn: {type: moe, num_experts: 512, router_topk: 10, moe_ffn_hidden_size: 512, shared_ffn_hidden_size: 256, shared_gate: true}
  full:
    attention: {type: gqa, heads: 16, kv_heads: 2, head_dim: 256, output_gate: true, qk_norm: true, window: 128, bias: true, output_bias: true, sinks: true}
    ffn: {type: dense, ffn_hidden_size: 6144, gated: false}
  latent:
    attention: {type: mla, heads: 128, q_lora_rank: 1536, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 96}
    ffn: {type: moe, num_experts: 256, router_topk: 8, moe_ffn_hidden_size: 2048, gated: false, expert_bias: true, router_bias: true, router_groups: 8, router_topk_groups: 4}
layers:
  - {kind: latent}
  - {repeat: 2, layers: [{kind: gdn_moe, count: 3}, {repeat: 2, layers: [{kind: full}]}]}
mtp: {num_layers: 1, kind: full}
)";

const std::string kExperiment = R"(
experiment: all_keys
question: "does every key arrive?"
model: toy
cluster: {topology: toy_16, profile: toy_gpu/2026-01-01-made-up}
parallelism: {world_size: 16, tp: 2, cp: 1, pp: 2, vpp: 2, ep: 4, etp: 1, sequence_parallel: true}
batch: {mbs: 2, gbs: 64, seq: 4096}
precision: bf16
recompute: {granularity: selective, modules: [moe_act, layernorm]}
moe: {token_dispatcher_type: deepep}
schedule: {name: interleaved_1f1b, microbatch_group_size_per_vp_stage: 4, overlap_moe_expert_parallel_comm: true, delay_wgrad_compute: true}
optimizer: {use_distributed_optimizer: false, overlap_grad_reduce: true, overlap_param_gather: true}
routing: {kind: generator, static_sigma: 0.1, drift_sigma: 0.2, drift_phi: 0.3, noise_sigma: 0.4}
jitter: {kernel: 2 %, fabric: 0.05}
flops_convention: full_attention
simulation: {seed: 7, steps: 3}
)";

LoadOptions test_home() {
  LoadOptions options;
  options.home = "tests/golden/errors/library";
  return options;
}

// Joined with the toy model, cluster and profile.
Scenario scenario(const std::string& text, const LoadOptions& options = {}) {
  return assemble(read_experiment("e.yaml", text, options), load_model("tests/golden/errors/library/models/toy.yaml"),
                  load_topology("tests/golden/errors/library/topologies/toy_16.yaml"),
                  load_profile("tests/golden/errors/library/calib/profiles/toy_gpu/2026-01-01-made-up/profile.yaml"));
}

std::string minimal(const std::string& more = "") {
  return "experiment: e\nmodel: toy\ncluster: {topology: t, profile: p}\n"
         "batch: {mbs: 1, gbs: 64, seq: 4096}\n" +
         more;
}

} // namespace

TEST_CASE("load: every key of a model arrives") {
  const Model m = load_model_text("m.yaml", kModel);
  CHECK(m.name == "mixed");
  CHECK(m.source == "test");
  CHECK(m.hidden_size == 2048);
  CHECK(m.vocab_size == 151936);
  CHECK(m.tie_embeddings);
  CHECK(!m.assumed);
  CHECK(m.layers == std::vector<std::int32_t>{2, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1});
  CHECK(m.mtp_num_layers == 1);
  CHECK(m.mtp_layer().name == "full");
  CHECK(m.kinds[0].attention == Attention(GatedDeltaNet{16, 32, 128, 64, 4}));
  CHECK(m.kinds[0].ffn == Ffn(MoeFfn{512, 10, 512, true, false, false, 256, true, 1, 1}));
  CHECK(m.kinds[1].attention == Attention(GroupedQueryAttention{16, 2, 256, 128, true, true, true, true, true}));
  CHECK(m.kinds[1].ffn == Ffn(DenseFfn{6144, false}));
  CHECK(m.kinds[2].attention == Attention(MultiLatentAttention{128, 1536, 512, 128, 64, 96}));
  CHECK(m.kinds[2].ffn == Ffn(MoeFfn{256, 8, 2048, false, true, true, 0, false, 8, 4}));
}

TEST_CASE("load: layers of one half each, as a pattern and as a list") {
  const std::string kinds = R"(
model: hybrid
source: "test"
hidden_size: 2048
vocab_size: 32000
kinds:
  mixer: {attention: {type: mamba2, mamba_num_heads: 64, mamba_head_dim: 32, ssm_state_size: 96, n_groups: 8, conv_kernel: 4, chunk_size: 256}}
  experts: {ffn: {type: moe, num_experts: 8, router_topk: 2, moe_ffn_hidden_size: 512, moe_latent_size: 256}}
  softmax: {attention: {type: gqa, heads: 16, kv_heads: 2, head_dim: 128}}
  plain: {ffn: {type: dense, ffn_hidden_size: 4096, gated: false}}
  both: {attention: {type: gqa, heads: 16, kv_heads: 2, head_dim: 128}, ffn: {type: dense, ffn_hidden_size: 64}}
)";
  const Model m = load_model_text(
      "m.yaml", kinds + "layers: \"MEM*-\"\nmtp: {num_layers: 2, kind: both, use_repeated_layer: true}\n");
  CHECK(m.kinds[0].attention == Attention(Mamba2{64, 32, 96, 8, 4, 256}));
  CHECK(m.kinds[0].ffn == Ffn(NoFfn{}));
  CHECK(m.kinds[1].attention == Attention(NoAttention{}));
  CHECK(moe_of(m.kinds[1])->moe_latent_size == 256);
  CHECK(m.layers == std::vector<std::int32_t>{0, 1, 0, 2, 3}); // a kind of both halves is no letter's
  CHECK(m.mtp_use_repeated_layer);
  CHECK(load_model_text("m.yaml", kinds + "layers: [{kind: mixer}, {kind: experts}, {kind: mixer}, {kind: softmax}, "
                                          "{kind: plain}]\n")
            .layers == m.layers);
  CHECK(load_model_text("m.yaml", kinds + "layers: [{kind: both}, {repeat: 2, layers: M*}]\n").layers ==
        std::vector<std::int32_t>{4, 0, 2, 0, 2});
  // What the configurations leave out: one group, chunks of 128.
  const Model d =
      load_model_text("m.yaml", "model: m\nsource: s\nhidden_size: 8\nvocab_size: 8\nkinds: {m: {attention: "
                                "{type: mamba2, mamba_num_heads: 4, mamba_head_dim: 4, ssm_state_size: 8, "
                                "conv_kernel: 4}}}\nlayers: MM\n");
  CHECK(d.kinds[0].attention == Attention(Mamba2{4, 4, 8, 1, 4, 128}));
  CHECK(d.num_layers() == 2);
}

TEST_CASE("load: every key of a topology arrives, links without a source take the section's") {
  const Cluster c = load_topology_text("t.yaml", R"(
topology: big
source: "top"
gpu: h100
nodes: 32
node:
  gpus: 8
  scale_up: {bandwidth: 450 GB/s, latency: 1 us, source: "vendor"}
  nics: 4
  nic: {bandwidth: 400 Gb/s, latency: 2 us}
fabric:
  kind: fat_tree
  source: "fabric"
  planes: 2
  nodes_per_leaf: 16
  leaf_to_spine: {bandwidth: 25 GB/s, latency: 500 ns}
  oversubscription: 1.5
  switch_latency: 300 ns
)");
  CHECK(c.name == "big");
  CHECK(c.gpu == "h100");
  CHECK(c.nodes == 32);
  CHECK(c.num_gpus() == 256);
  CHECK(c.node == NodeSpec{8, Link{{450e9}, {1000000}, "vendor"}, 4, Link{{50e9}, {2000000}, "top"}});
  FabricSpec f;
  f.kind = FabricKind::fat_tree;
  f.planes = 2;
  f.nodes_per_leaf = 16;
  f.leaf_to_spine = Link{{25e9}, {500000}, "fabric"};
  f.oversubscription = 1.5;
  f.switch_latency = {300000};
  f.source = std::string("fabric");
  CHECK(c.fabric == f);
}

TEST_CASE("load: parameters of a profile are SI and in the order of their form") {
  const Profile p = load_profile_text("p.yaml", R"(
profile: g/d
gpu: {name: g, sms: 132, bf16_peak: 989.4 TFLOPS, fp8_peak: 1978.9 TFLOPS, hbm: 3350 GB/s, memory: 80 GiB, source: s}
entries:
  - {op: all_to_all, tier: fabric, form: collective, params: {half_size: 1 MiB, efficiency: 85 %, latency_per_rank: 0.5 us, latency: 8 us}, provenance: measured, source: s, residual: {median: 2.1 %, p95: 0.083, rows: 512}}
  - {op: adam, dtype: bf16, form: stream, params: {bandwidth: 2.8 TB/s, launch: 3 us}, provenance: derived, source: s}
)");
  CHECK(p.gpu == GpuSpec{"g", 132, {989.4e12}, {1978.9e12}, {3350e9}, {85899345920}, "s"});
  REQUIRE(p.entries.size() == 2);
  const ProfileEntry& e = p.entries[0];
  CHECK(e.tier == "fabric");
  CHECK(e.param("latency") == 8e-6);
  CHECK(e.param("latency_per_rank") == 0.5e-6);
  CHECK(e.param("efficiency") == 0.85);
  CHECK(e.param("half_size") == 1048576.0);
  CHECK(!e.param("sms"));
  CHECK(e.params[0].first == "latency");
  CHECK(e.residual == Residual{0.021, 0.083, 512});
  CHECK(e.provenance == Provenance::measured);
  CHECK(p.entries[1].dtype == "bf16");
  CHECK(p.entries[1].params[0] == std::pair<std::string, double>("launch", 3e-6));
}

TEST_CASE("load: every key of an experiment arrives") {
  const Scenario s = scenario(kExperiment);
  CHECK(s.name == "all_keys");
  CHECK(s.parallelism == Parallelism{16, 2, 1, 2, 2, 4, 1, true});
  CHECK(s.batch == Batch{2, 64, 4096});
  CHECK(s.recompute ==
        Recompute{RecomputeGranularity::selective, {RecomputeModule::moe_act, RecomputeModule::layernorm}});
  CHECK(s.dispatcher == Dispatcher::deepep);
  CHECK(s.schedule == ScheduleSpec{"interleaved_1f1b", 4, true, true, {}});
  CHECK(s.optimizer == Optimizer{false, true, true});
  RoutingSpec routing;
  routing.kind = RoutingKind::generator;
  routing.static_sigma = 0.1;
  routing.drift_sigma = 0.2;
  routing.drift_phi = 0.3;
  routing.noise_sigma = 0.4;
  CHECK(s.routing == routing);
  CHECK(s.jitter == Jitter{0.02, 0.05});
  CHECK(s.flops_convention == FlopsConvention::full_attention);
  CHECK(s.seed == 7);
  CHECK(s.steps == 3);
  CHECK(s.partition.stages.size() == 4);
  CHECK(s.num_micro_batches() == 8);
}

TEST_CASE("load: defaults are Megatron's, the world is the cluster") {
  const Scenario s = scenario(minimal("parallelism: {tp: 2}\nrecompute: {granularity: selective}\n"));
  CHECK(s.parallelism.world_size == 16);
  CHECK(s.parallelism.etp == 2); // follows tp
  CHECK(s.parallelism.vpp == 1);
  CHECK(s.recompute.modules == std::vector{RecomputeModule::core_attn});
  CHECK(s.seed == 1);
  CHECK(s.steps == 1);
}

TEST_CASE("load: the bubble filler moves what it is told to, and only what the run has") {
  const auto movable = [](const std::string& more) { return scenario(minimal(more)); };
  CHECK(movable("bubble_filler: {policy: greedy}\n").bubble_filler.movable == std::vector{Movable::wgrad});
  const Scenario all =
      movable("recompute: {granularity: selective}\noptimizer: {overlap_grad_reduce: true, offload: true}\n"
              "bubble_filler: {policy: greedy, movable: [gradient_reduction, recompute, optimizer_prefetch, "
              "checkpoint_hash]}\n");
  CHECK(all.optimizer.offload);
  CHECK(all.bubble_filler.movable == std::vector{Movable::gradient_reduction, Movable::recompute,
                                                 Movable::optimizer_prefetch, Movable::checkpoint_hash});
  for (const auto& wrong :
       {std::pair("recompute", "granularity: selective"), std::pair("optimizer_prefetch", "optimizer.offload: true"),
        std::pair("gradient_reduction", "optimizer.overlap_grad_reduce: true")}) {
    std::string more = "bubble_filler: {policy: greedy, movable: [wgrad, ";
    more.append(wrong.first).append("]}\n");
    CHECK_THROWS_WITH_AS(movable(more), doctest::Contains(wrong.second), InputError);
  }
  CHECK_THROWS_WITH_AS(movable("bubble_filler: {policy: greedy, movable: [wgrads]}\n"), doctest::Contains("wgrad"),
                       InputError);
}

TEST_CASE("load: a layout string decides the virtual stages") {
  const Scenario s = scenario(minimal("parallelism: {pp: 2, pipeline_model_parallel_layout: \"Ett|tt|tt|ttL\"}\n"));
  CHECK(s.parallelism.vpp == 2);
  REQUIRE(s.partition.stages.size() == 4);
  CHECK(s.partition.stages[3].loss);
}

TEST_CASE("load: overrides and flags win over the file") {
  LoadOptions options;
  options.overrides = {"parallelism.tensor_model_parallel_size=4",
                       "batch.gbs=128",
                       "jitter.kernel=3 %",
                       "recompute.modules.0=mlp",
                       "routing={kind: balanced}",
                       "parallelism.vpp=null"};
  options.seed = 99;
  options.steps = 5;
  const Experiment e = read_experiment("e.yaml", kExperiment, options);
  CHECK(e.draft.parallelism.tp == 4); // the file says tp: 2
  CHECK(e.draft.batch.global_batch_size == 128);
  CHECK(e.draft.jitter.kernel == 0.03);
  CHECK(e.draft.recompute.modules == std::vector{RecomputeModule::mlp, RecomputeModule::layernorm});
  CHECK(e.draft.routing.kind == RoutingKind::balanced);
  CHECK(!e.vpp);
  CHECK(e.draft.seed == 99);
  CHECK(e.draft.steps == 5);
  options.steps = 0;
  CHECK_THROWS_AS(read_experiment("e.yaml", kExperiment, options), InputError);
}

TEST_CASE("load: an override makes the maps on its way, and errors name the flag") {
  LoadOptions options;
  options.overrides = {"simulation.seed=3", "parallelism.pp=2"};
  const Experiment e = read_experiment("e.yaml", minimal(), options);
  CHECK(e.draft.seed == 3);
  CHECK(e.draft.parallelism.pp == 2);
  CHECK(position_of(e, "parallelism.pipeline_model_parallel_size").file == "--set parallelism.pp=2");
  CHECK(position_of(e, "batch.global_batch_size") ==
        SourceSpan{"e.yaml", 4, 17, 3, "batch: {mbs: 1, gbs: 64, seq: 4096}"});
  CHECK(position_of(e, "batch.nothing") == SourceSpan{"e.yaml", 4, 1, 5, "batch: {mbs: 1, gbs: 64, seq: 4096}"});
  CHECK(position_of(e, "nothing.at.all").line == 1);
}

TEST_CASE("load: a routing preset is a starting point") {
  const RoutingSpec skewed = *routing_preset("skewed");
  CHECK(read_experiment("e.yaml", minimal("routing: {preset: skewed}\n")).draft.routing == skewed);
  RoutingSpec quieter = skewed;
  quieter.noise_sigma = 0.05;
  CHECK(read_experiment("e.yaml", minimal("routing: {preset: skewed, noise_sigma: 0.05}\n")).draft.routing == quieter);
  CHECK(read_experiment("e.yaml", minimal("routing: {preset: balanced}\n")).draft.routing == RoutingSpec{});
}

TEST_CASE("load: routing that does not fit the plan is refused at its key; a dense model has none") {
  const auto refusal = [](const std::string& routing) {
    try {
      scenario(minimal("parallelism: {ep: 4, etp: 1}\n" + routing));
    } catch (const InputError& error) {
      return std::to_string(error.where().line) + " " + error.message();
    }
    return std::string("accepted");
  };
  CHECK(refusal("routing: {kind: loads, loads: [1, 2, 3, 4]}\n") == "accepted");
  CHECK(refusal("routing: {kind: loads, loads: [1, 2, 3]}\n") ==
        "6 3 loads; give one per EP rank (4) or one per expert (8)");
  CHECK(refusal("routing: {kind: generator, drift_phi: 1}\n").starts_with("6 drift_phi is 1"));
}

TEST_CASE("load: a trace is whole numbers in four columns") {
  const RoutingTrace t = load_trace_text("t.csv", "iter,layer,rank,tokens\r\n7,0,0,5\r\n7,0,1,6\n8,0,1,8\n8,0,0,7");
  CHECK(t.iterations == 2);
  CHECK(t.layers == 1);
  CHECK(t.columns == 2);
  CHECK(t.tokens == std::vector<std::int64_t>{5, 6, 7, 8});
  const auto refusal = [](const std::string& text) {
    try {
      load_trace_text("t.csv", text);
    } catch (const InputError& error) {
      return std::to_string(error.where().line) + " " + error.message();
    }
    return std::string("accepted");
  };
  const std::string header = "iter,layer,rank,tokens\n";
  CHECK(refusal("") == "1 the first line of a trace is 'iter,layer,rank,tokens', found ''");
  CHECK(refusal("iter,rank,layer,tokens\n").starts_with("1 the first line of a trace is"));
  CHECK(refusal(header) == "0 the trace has no rows");
  for (const char* row : {"1,2,3", "1,2,3,4,5", "1,2,3,4 ", " 1,2,3,4", "1,2,3,x", "1,2,3,", "1.0,2,3,4", ",,,",
                          "1,2,3,99999999999999999999"})
    CHECK(refusal(header + row).starts_with("2 expected four whole numbers"));
  CHECK(refusal(header + "0,0,0,1\n\n0,0,0,1\n").starts_with("4 ")); // a second row; the empty line counts
}

TEST_CASE("load: absurd but parsable sizes name the key, the value and the limit") {
  const std::string text = "experiment: e\nmodel: toy\ncluster: {topology: t, profile: p}\n"
                           "parallelism: {world_size: 1.0e+9}\n"
                           "batch: {mbs: 1, gbs: 64, seq_length: 1.0e+12}\n";
  try {
    read_experiment("e.yaml", text);
    FAIL("accepted");
  } catch (const InputError& error) {
    const std::string shown = format_error(error);
    for (const char* part : {"world_size is 1.0e+9", "seq_length is 1.0e+12", "limit"})
      CHECK(shown.find(part) != std::string::npos);
    for (const char* part : {"inf", "nan"}) CHECK(shown.find(part) == std::string::npos);
  }
}

TEST_CASE("load: the inputs of a scenario are recorded with their digests") {
  const std::string file = "tests/golden/errors/override_bad_value/experiment.yaml"; // a good file without its override
  const Scenario s = load_scenario(file, test_home());
  REQUIRE(s.inputs.size() == 4);
  CHECK(s.inputs[0].first == file);
  CHECK(s.inputs[1].first == "tests/golden/errors/library/models/toy.yaml");
  CHECK(s.inputs[2].first == "tests/golden/errors/library/topologies/toy_16.yaml");
  CHECK(s.inputs[3].first == "tests/golden/errors/library/calib/profiles/toy_gpu/2026-01-01-made-up/profile.yaml");
  for (const auto& [path, digest] : s.inputs) CHECK(digest == sha256_hex(read_file(path)));
}

TEST_CASE("load: rules of other layers point at the experiment too") {
  LoadOptions options = test_home();
  options.more_rules = [](const Scenario& s) -> std::vector<Violation> {
    return {{"batch.global_batch_size", "refused by " + s.schedule.name, "global_batch_size: 64"}};
  };
  try {
    load_scenario("tests/golden/errors/override_bad_value/experiment.yaml", options);
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.message() == "refused by 1f1b");
    CHECK(error.where().line == 9);
    CHECK(error.notes()[0].text == "nearest legal plan: global_batch_size: 64");
  }
}
