// Scenarios for the cost of ops: public models on a GPU and a fabric so simple that a pencil does:
// 1 TFLOP/s and 1 TB/s everywhere, no launch time, no latency. One FLOP or one byte takes one picosecond.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sim/cost/layer_ops.h"

namespace tessella::test {

inline ProfileEntry pencil_entry(const std::string& op, const std::string& form,
                                 std::vector<std::pair<std::string, double>> params, const std::string& tier = "") {
  ProfileEntry e;
  e.op = op;
  e.tier = tier;
  e.form = form;
  e.params = std::move(params);
  e.provenance = Provenance::derived;
  e.source = "pencil";
  return e;
}

inline Profile pencil_profile() {
  Profile p;
  p.name = "pencil";
  p.gpu.name = "pencil";
  p.gpu.sms = 132;
  p.gpu.hbm = {1e12};
  const std::vector<std::pair<std::string, double>> gemm = {{"peak", 1e12}, {"launch", 0.0}, {"hbm", 1e30},
                                                            {"sms", 1.0},   {"k_half", 0.0}, {"tile_half", 0.0}};
  p.entries.push_back(pencil_entry("gemm", "gemm_tiles", gemm));
  p.entries.push_back(pencil_entry("grouped_gemm", "grouped_gemm_tiles", gemm));
  for (const bool backward : {false, true}) {
    p.entries.push_back(pencil_entry(backward ? "attention_bwd" : "attention_fwd", "attention_rate",
                                     {{"peak", 1e12},
                                      {"launch", 0.0},
                                      {"hbm", 1e30},
                                      {"sms", 1.0},
                                      {"qk_matmuls", backward ? 3.0 : 1.0},
                                      {"v_matmuls", backward ? 2.0 : 1.0},
                                      {"kv_half", 0.0},
                                      {"dim_half", 0.0},
                                      {"bytes_factor", 1.0}}));
    p.entries.push_back(
        pencil_entry(backward ? "gdn_bwd" : "gdn_fwd", "gdn_rate",
                     {{"peak", 1e12}, {"launch", 0.0}, {"sms", 132.0}, {"chunk", 64.0}, {"chunk_latency", 0.0}}));
    p.entries.push_back(pencil_entry(backward ? "ssd_bwd" : "ssd_fwd", "ssd_rate",
                                     {{"peak", 1e12}, {"launch", 0.0}, {"hbm", 1e12}, {"state_passes", 4.0}}));
  }
  for (const char* op : {"norm_fwd", "norm_bwd", "activation", "activation_bwd", "conv1d_fwd", "conv1d_bwd", "copy",
                         "permute", "unpermute", "cast_fp8", "router", "embedding", "cross_entropy", "optimizer"})
    p.entries.push_back(pencil_entry(op, "stream", {{"launch", 0.0}, {"bandwidth", 1e12}}));
  for (const char* tier : {"node", "fabric"})
    for (const char* op :
         {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv", "dispatch_deepep", "combine_deepep"})
      p.entries.push_back(
          pencil_entry(op, "collective",
                       {{"latency", 0.0}, {"latency_per_rank", 0.0}, {"efficiency", 1.0}, {"half_size", 0.0}}, tier));
  return p;
}

inline Cluster pencil_cluster(std::int64_t gpus) {
  Cluster c;
  c.gpu = "pencil";
  c.nodes = std::max<std::int64_t>(1, gpus / 8);
  c.node.gpus = std::min<std::int64_t>(8, gpus);
  c.node.scale_up = {{1e12}, {0}, "pencil"};
  c.node.nics = 8;
  c.node.nic = {{1e12}, {0}, "pencil"};
  c.fabric.kind = c.nodes == 1 ? FabricKind::single_node : FabricKind::rail_optimized;
  c.fabric.nodes_per_leaf = c.nodes;
  return c;
}

inline Model one_kind(std::int64_t hidden, std::int64_t vocab, LayerKind kind, std::int64_t layers) {
  Model m;
  m.hidden_size = hidden;
  m.vocab_size = vocab;
  m.kinds = {std::move(kind)};
  m.layers.assign(static_cast<std::size_t>(layers), 0);
  return m;
}

inline MoeFfn qwen3_moe() {
  MoeFfn moe;
  moe.num_experts = 128;
  moe.router_topk = 8;
  moe.moe_ffn_hidden_size = 1536;
  return moe;
}

// Public configurations (Hugging Face config.json of each model).
inline Model qwen3_235b() {
  GroupedQueryAttention a;
  a.heads = 64;
  a.kv_heads = 4;
  a.head_dim = 128;
  a.qk_norm = true;
  return one_kind(4096, 151936, {"moe", a, qwen3_moe()}, 94);
}

inline Model deepseek_v3() {
  MultiLatentAttention a;
  a.heads = 128;
  a.q_lora_rank = 1536;
  a.kv_lora_rank = 512;
  a.qk_nope_head_dim = 128;
  a.qk_rope_head_dim = 64;
  a.v_head_dim = 128;
  MoeFfn moe;
  moe.num_experts = 256;
  moe.router_topk = 8;
  moe.moe_ffn_hidden_size = 2048;
  moe.shared_ffn_hidden_size = 2048;
  moe.router_groups = 8;
  moe.router_topk_groups = 4;
  DenseFfn dense;
  dense.ffn_hidden_size = 18432;
  Model m = one_kind(7168, 129280, {"moe", a, moe}, 61);
  m.kinds.push_back({"dense", a, dense});
  m.layers[0] = m.layers[1] = m.layers[2] = 1;
  return m;
}

inline Model qwen3_next_80b() {
  GatedDeltaNet g;
  g.key_heads = 16;
  g.value_heads = 32;
  g.key_head_dim = 128;
  g.value_head_dim = 128;
  g.conv_kernel = 4;
  GroupedQueryAttention a;
  a.heads = 16;
  a.kv_heads = 2;
  a.head_dim = 256;
  a.output_gate = true;
  a.qk_norm = true;
  MoeFfn moe;
  moe.num_experts = 512;
  moe.router_topk = 10;
  moe.moe_ffn_hidden_size = 512;
  moe.shared_ffn_hidden_size = 512;
  moe.shared_gate = true;
  Model m = one_kind(2048, 151936, {"gdn", g, moe}, 48);
  m.kinds.push_back({"full", a, moe});
  for (std::size_t i = 3; i < m.layers.size(); i += 4) m.layers[i] = 1;
  return m;
}

inline Scenario pencil_scenario(Model model, std::int64_t gpus) {
  Scenario s;
  s.model = std::move(model);
  s.cluster = pencil_cluster(gpus);
  s.profile = pencil_profile();
  s.parallelism.world_size = gpus;
  s.batch = {1, gpus, 4096};
  s.dispatcher = Dispatcher::deepep;
  return s;
}

// TP2 EP32 PP8 on 256 GPUs, as in the published H100 recipe.
inline Scenario qwen3_tp2_ep32() {
  Scenario s = pencil_scenario(qwen3_235b(), 256);
  s.parallelism.tp = 2;
  s.parallelism.pp = 8;
  s.parallelism.ep = 32;
  return s;
}

// TP1 EP64 on 64 GPUs of one pipeline rank: the layout of the public DeepSeek-V3 trace.
inline Scenario deepseek_tp1_ep64() {
  Scenario s = pencil_scenario(deepseek_v3(), 64);
  s.parallelism.ep = 64;
  return s;
}

inline std::vector<std::string> names(const std::vector<OpCost>& ops) {
  std::vector<std::string> list;
  for (const OpCost& op : ops) list.push_back(op.name);
  return list;
}

inline std::vector<OpDetail> details(const std::vector<OpCost>& ops) {
  std::vector<OpDetail> list;
  for (const OpCost& op : ops) list.insert(list.end(), op.details.begin(), op.details.end());
  return list;
}

// The only detail of that name; an empty one when there is none.
inline OpDetail detail(const std::vector<OpCost>& ops, const std::string& name) {
  OpDetail found;
  for (const OpDetail& d : details(ops))
    if (d.name == name) found = d;
  return found;
}

inline double flops(const std::vector<OpCost>& ops) {
  double sum = 0.0;
  for (const OpCost& op : ops) sum += op.flops().count;
  return sum;
}

} // namespace tessella::test
