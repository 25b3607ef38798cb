// Which ops a layer has, in which order, and what changes them.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/base/error.h"
#include "tests/unit/cost/ops_support.h"

using namespace tessella;
using namespace tessella::test;
using Names = std::vector<std::string>;

namespace {

Duration time_of(const std::vector<OpCost>& ops, OpClass cls) {
  Duration sum;
  for (const OpCost& op : ops)
    if (op.cls == cls) sum += op.duration;
  return sum;
}

std::vector<OpCost> all_ops(const OpChain& chain) {
  std::vector<OpCost> ops = chain.forward;
  ops.insert(ops.end(), chain.backward.begin(), chain.backward.end());
  ops.insert(ops.end(), chain.wgrad.begin(), chain.wgrad.end());
  return ops;
}

} // namespace

TEST_CASE("DeepSeek-V3, TP1 EP64: 11 ops per MoE layer, 6 per dense layer") {
  const ModelOps ops = make_model_ops(deepseek_tp1_ep64());
  CHECK(names(ops.kinds[0].forward) ==
        Names{"attention_fwd", "dispatch_fwd", "experts_fwd", "combine_fwd", "join_fwd"});
  CHECK(names(ops.kinds[0].backward) == Names{"combine_bwd", "experts_bwd", "dispatch_bwd", "attention_bwd"});
  CHECK(names(ops.kinds[0].wgrad) == Names{"experts_wgrad", "attention_wgrad"});
  CHECK(names(ops.kinds[1].forward) == Names{"attention_fwd", "ffn_fwd"});
  CHECK(names(ops.kinds[1].backward) == Names{"ffn_bwd", "attention_bwd"});
  CHECK(names(ops.kinds[1].wgrad) == Names{"ffn_wgrad", "attention_wgrad"});
}

TEST_CASE("roles, classes and who meets whom") {
  const ModelOps ops = make_model_ops(deepseek_tp1_ep64());
  const std::vector<OpCost>& b = ops.kinds[0].backward;
  CHECK(b[0].role == Role::combine);
  CHECK(b[0].cls == OpClass::ep);
  CHECK(b[0].sync_width == 64);
  CHECK(b[0].by_load.has_value());
  CHECK(b[1].role == Role::experts);
  CHECK(b[1].sync_width == 1);
  CHECK(b[1].by_load.has_value());
  CHECK(b[2].role == Role::dispatch);
  CHECK(b[3].role == Role::attention);
  CHECK_FALSE(b[3].by_load.has_value());
  CHECK(ops.kinds[0].wgrad[0].role == Role::wgrad_experts);
  CHECK(ops.kinds[0].wgrad[0].by_load.has_value());
  CHECK(ops.kinds[0].wgrad[1].role == Role::wgrad_attention);
}

TEST_CASE("Qwen3-235B, TP2 EP32: sequence parallelism around attention") {
  const ModelOps ops = make_model_ops(qwen3_tp2_ep32());
  CHECK(names(ops.kinds[0].forward) == Names{"norm_1_fwd", "tp_ag_fwd", "attention_fwd", "tp_rs_fwd",
                                             "pre_dispatch_fwd", "dispatch_fwd", "experts_fwd", "combine_fwd",
                                             "join_fwd"});
  CHECK(names(ops.kinds[0].backward) == Names{"combine_bwd", "experts_bwd", "dispatch_bwd", "pre_dispatch_bwd",
                                              "tp_ag_bwd", "attention_bwd", "tp_rs_bwd", "norm_1_bwd"});
  CHECK(ops.kinds[0].forward[1].cls == OpClass::tp);
  CHECK(ops.kinds[0].forward[1].sync_width == 2);
  CHECK(ops.kinds[0].forward[5].sync_width == 32);
}

TEST_CASE("without sequence parallelism, one all-reduce each way") {
  Scenario s = qwen3_tp2_ep32();
  s.parallelism.sequence_parallel = false;
  const ModelOps ops = make_model_ops(s);
  CHECK(names(ops.kinds[0].forward)[1] == "tp_ar_fwd");
  CHECK(names(ops.kinds[0].backward)[4] == "tp_ar_bwd");
}

TEST_CASE("alltoall permutes before the exchange and restores after it") {
  Scenario s = deepseek_tp1_ep64();
  s.dispatcher = Dispatcher::alltoall;
  const OpChain chain = make_model_ops(s).kinds[0];
  CHECK(names(chain.backward) == Names{"join_bwd", "combine_bwd", "experts_bwd", "dispatch_bwd", "attention_bwd"});
  CHECK(detail(chain.forward, "permute").bytes == 9.0 * 4096 * 7168 * 2);
  CHECK(detail(chain.forward, "sort_rows").bytes == 2.0 * 8 * 4096 * 7168 * 2); // four local experts
  CHECK(detail(chain.forward, "unpermute").bytes == 9.0 * 4096 * 7168 * 2);
}

TEST_CASE("EP1 has no exchange and no load curve; ETP gathers rows around the experts") {
  Scenario s = pencil_scenario(qwen3_235b(), 8);
  CHECK(names(make_model_ops(s).kinds[0].forward) == Names{"attention_fwd", "experts_fwd", "join_fwd"});
  const std::vector<OpCost> ops = all_ops(make_model_ops(s).kinds[0]);
  for (const OpCost& op : ops) CHECK_FALSE(op.by_load.has_value());

  s.parallelism.tp = 2;
  s.parallelism.etp = 2;
  s.parallelism.ep = 4;
  const std::vector<OpCost> f = make_model_ops(s).kinds[0].forward;
  const Names all = names(f);
  CHECK(Names(all.begin() + 5, all.end()) ==
        Names{"dispatch_fwd", "etp_ag_fwd", "experts_fwd", "etp_rs_fwd", "combine_fwd", "join_fwd"});
  CHECK(f[5].sync_width == 8);
  CHECK(f[6].sync_width == 2);
  CHECK(f[6].by_load.has_value());
}

TEST_CASE("context parallelism: the ring shows only what outlasts the attention of a block") {
  Scenario s = pencil_scenario(qwen3_235b(), 8);
  s.parallelism.cp = 4;
  const std::vector<OpCost> f = make_model_ops(s).kinds[0].forward;
  CHECK(names(f) == Names{"attention_fwd", "cp_kv_fwd", "attention_fwd", "experts_fwd", "join_fwd"});
  CHECK(f[1].cls == OpClass::cp);
  CHECK(f[1].sync_width == 4);
  CHECK(f[1].duration.ps == 0); // 1024 * 2 * 4 * 128 * 2 bytes against 8.6e9 FLOPs per block
  CHECK(f[1].details[0].bytes == 3.0 * 1024 * 2 * 4 * 128 * 2);

  // A link ten thousand times slower is seen: three transfers, each minus the attention of the block it runs under.
  s.cluster.node.scale_up.bandwidth = {1e8};
  const std::vector<OpCost> slow = make_model_ops(s).kinds[0].forward;
  Duration exposed = Duration{std::int64_t{1024} * 2 * 4 * 128 * 2 * 10000} * 3;
  int blocks = 0;
  for (const OpDetail& d : details(slow))
    if (d.name == "core" && ++blocks <= 3) exposed -= d.duration;
  CHECK(blocks == 4);
  CHECK(slow[1].duration == exposed);
}

TEST_CASE("Gated DeltaNet under context parallelism trades heads for sequence") {
  Scenario s = pencil_scenario(qwen3_next_80b(), 8);
  s.parallelism.cp = 2;
  const std::vector<OpCost> f = make_model_ops(s).kinds[0].forward;
  CHECK(names(f) ==
        Names{"attention_fwd", "cp_a2a_fwd", "core_fwd", "cp_a2a_fwd", "attention_fwd", "experts_fwd", "join_fwd"});
  CHECK(f[1].details[0].bytes == 2048.0 * (2 * 2048 + 2 * 4096 + 2 * 32) * 2 / 2);
  CHECK(f[3].details[0].bytes == 2048.0 * 4096 * 2 / 2);
}

TEST_CASE("the re-gather of a linear's input hides behind its input gradient") {
  Scenario s = qwen3_tp2_ep32();
  const std::vector<OpCost> hidden = make_model_ops(s).kinds[0].backward;
  CHECK(detail(hidden, "tp_regather").duration.ps == 0);
  CHECK(detail(hidden, "tp_regather").bytes == 4096.0 * 4096 * 2 / 2);

  s.cluster.node.scale_up.bandwidth = {1e8};
  const std::vector<OpCost> shown = make_model_ops(s).kinds[0].backward;
  CHECK(names(shown)[6] == "tp_regather_bwd");
  CHECK(detail(shown, "tp_regather").duration.ps ==
        std::int64_t{4096} * 4096 * 10000 - detail(shown, "qkv_dgrad").duration.ps);
}

TEST_CASE("an ideal network costs nothing, and a slower one nothing less") {
  Scenario s = qwen3_tp2_ep32();
  const ModelOps real = make_model_ops(s);
  s.cluster.fabric.kind = FabricKind::ideal;
  const ModelOps ideal = make_model_ops(s);
  for (const OpClass cls : {OpClass::tp, OpClass::cp, OpClass::ep}) {
    CHECK(time_of(all_ops(ideal.kinds[0]), cls).ps == 0);
    CHECK(time_of(all_ops(ideal.head), cls).ps == 0);
  }
  CHECK(time_of(all_ops(ideal.kinds[0]), OpClass::compute) == time_of(all_ops(real.kinds[0]), OpClass::compute));
  CHECK(time_of(all_ops(real.kinds[0]), OpClass::ep).ps > 0);
  CHECK(ideal.p2p_latency.ps == 0);
  CHECK(ideal.p2p_bandwidth.bytes_per_second > 1e30);
}

TEST_CASE("an op is the sum of its details; a curve passes through it at balanced load and never falls") {
  for (const Scenario& s : {qwen3_tp2_ep32(), deepseek_tp1_ep64()}) {
    const ModelOps ops = make_model_ops(s);
    const std::int64_t rows = routed_rows(s, *moe_of(s.model.kinds[0]));
    for (const OpCost& op : all_ops(ops.kinds[0])) {
      CAPTURE(op.name);
      Duration sum;
      for (const OpDetail& d : op.details) sum += d.duration;
      CHECK(op.duration == sum);
      if (!op.by_load) continue;
      CHECK(op.by_load->at(rows) == op.duration);
      Duration last;
      for (std::int64_t r = 0; r < 6 * rows; r += rows / 7) {
        CHECK(op.by_load->at(r) >= last);
        last = op.by_load->at(r);
      }
    }
  }
}

TEST_CASE("more tokens never cost less") {
  Scenario s = qwen3_tp2_ep32();
  Duration last;
  for (const std::int64_t seq : {1024, 1536, 2048, 4096, 8192}) {
    s.batch.seq_length = seq;
    const OpChain chain = make_model_ops(s).kinds[0];
    const Duration t = total(chain.forward) + total(chain.backward) + total(chain.wgrad);
    CHECK(t > last);
    last = t;
  }
}

TEST_CASE("embedding, head and MTP") {
  Scenario s = deepseek_tp1_ep64();
  CHECK(make_model_ops(s).mtp_extra.forward.empty());
  s.model.mtp_num_layers = 1;
  s.parallelism.tp = 2;
  const ModelOps ops = make_model_ops(s);
  CHECK(names(ops.embedding.forward) == Names{"embedding_fwd", "tp_rs_fwd"});
  CHECK(names(ops.embedding.backward) == Names{"tp_ag_bwd", "embedding_bwd"});
  CHECK(ops.embedding.wgrad.empty());
  CHECK(names(ops.head.forward) == Names{"head_fwd", "tp_ag_fwd", "head_fwd", "tp_loss_fwd"});
  CHECK(names(ops.head.wgrad) == Names{"head_wgrad"});
  CHECK(detail(ops.mtp_extra.forward, "eh_proj").flops.count == 2.0 * 4096 * (2 * 7168) * 7168 / 2);
  CHECK(detail(ops.mtp_extra.forward, "logits").flops.count == 2.0 * 4096 * 7168 * 129280 / 2);
}

TEST_CASE("one message per stage boundary, over the widest hop") {
  const Scenario s = qwen3_tp2_ep32();
  const ModelOps ops = make_model_ops(s);
  CHECK(ops.p2p_message.count == 2048 * 4096 * 2);
  CHECK(ops.p2p_latency.ps <= 1); // an empty message is sent as one byte
  CHECK(ops.p2p_bandwidth.bytes_per_second == doctest::Approx(1e12));
}

TEST_CASE("an op is no shorter than the host needs to issue its kernels") {
  Scenario s = qwen3_tp2_ep32();
  const std::vector<OpCost> fast = make_model_ops(s).kinds[0].forward;
  s.profile.entries.push_back(pencil_entry("host_op", "constant", {{"seconds", 50e-6}}));
  const std::vector<OpCost> f = make_model_ops(s).kinds[0].forward;
  CHECK(f[0].details.size() == 2); // norm_1 takes 33.6 us
  CHECK(f[0].duration.ps == 50'000'000);
  CHECK(f[0].details[1].name == "host_issue");
  CHECK(f[2].duration == fast[2].duration);                         // attention takes longer than its kernels to issue
  CHECK(f[6].by_load->at(0).ps == 3 * 50'000'000 + 2 * 50'000'000); // fc1, act, fc2, two permutes
  CHECK(f[1].duration == fast[1].duration);                         // collectives are issued ahead
}

TEST_CASE("tensor-parallel gathers under their GEMMs leave one piece exposed") {
  Scenario s = qwen3_tp2_ep32();
  const std::vector<OpCost> whole = make_model_ops(s).kinds[0].forward;
  s.profile.entries.push_back(pencil_entry("tp_exposed", "factor", {{"factor", 0.5}}));
  const std::vector<OpCost> half = make_model_ops(s).kinds[0].forward;
  CHECK(detail(half, "tp_ag").duration.ps == detail(whole, "tp_ag").duration.ps / 2);
  CHECK(detail(half, "tp_rs").duration.ps == detail(whole, "tp_rs").duration.ps / 2);
  CHECK(detail(half, "tp_ag").bytes == detail(whole, "tp_ag").bytes);
  CHECK(detail(half, "dispatch").duration == detail(whole, "dispatch").duration);
}

TEST_CASE("a pass over a MoE layer is no shorter than the host needs for its kernels and collectives") {
  Scenario s = qwen3_tp2_ep32();
  const OpChain fast = make_model_ops(s).kinds[0];
  s.profile.entries.push_back(pencil_entry("host_moe", "constant", {{"seconds", 1e-9}}));
  CHECK(make_model_ops(s).kinds[0] == fast); // the GPU is slower
  s.profile.entries.back() = pencil_entry("host_moe", "constant", {{"seconds", 1.0}});
  const OpChain slow = make_model_ops(s).kinds[0];
  std::int64_t issued = 0;
  for (const OpCost& op : fast.forward)
    issued += std::count_if(op.details.begin(), op.details.end(),
                            [](const OpDetail& d) { return d.duration.ps > 0 || d.bytes > 0.0; });
  CHECK(total(slow.forward).ps == issued * 1'000'000'000'000);
  CHECK(slow.forward.size() == fast.forward.size());
  // Where exchanges run beside compute, they do not count towards the host's time.
  s.schedule.overlap_moe_expert_parallel_comm = true;
  CHECK(total(make_model_ops(s).kinds[0].forward) > total(slow.forward));
}

TEST_CASE("sustained power slows GEMMs, once, and nothing else") {
  Scenario s = deepseek_tp1_ep64();
  const std::vector<OpCost> burst = make_model_ops(s).kinds[0].forward;
  s.profile.entries.push_back(pencil_entry("sustained", "factor", {{"factor", 0.8}}));
  const std::vector<OpCost> f = make_model_ops(s).kinds[0].forward;
  CHECK(detail(f, "q_a").duration.ps == detail(burst, "q_a").duration.ps * 5 / 4);
  CHECK(detail(f, "fc1").duration.ps == detail(burst, "fc1").duration.ps * 5 / 4);
  CHECK(detail(f, "norm_1").duration == detail(burst, "norm_1").duration);
  CHECK(detail(f, "core").duration == detail(burst, "core").duration); // its table is of long kernels
  CHECK(detail(f, "dispatch").duration == detail(burst, "dispatch").duration);
}

TEST_CASE("missing rows are listed together, and name themselves") {
  Scenario s = qwen3_tp2_ep32();
  std::erase_if(s.profile.entries, [](const ProfileEntry& e) {
    return e.op == "norm_fwd" || e.op == "grouped_gemm" || e.op == "optimizer" || e.op == "dispatch_deepep" ||
           (e.op == "all_gather" && e.tier == "node");
  });
  std::vector<std::string> missing;
  try {
    make_model_ops(s);
  } catch (const NotCovered& e) {
    missing = e.missing();
  }
  const auto listed = [&](const std::string& row) {
    return std::any_of(missing.begin(), missing.end(), [&](const std::string& m) { return m.rfind(row, 0) == 0; });
  };
  CHECK(listed("norm_fwd"));
  CHECK(listed("grouped_gemm bf16"));
  CHECK(listed("optimizer"));
  CHECK(listed("all_gather"));
}

TEST_CASE("the longest kernel decides an op's provenance") {
  Scenario s = deepseek_tp1_ep64();
  for (ProfileEntry& e : s.profile.entries) {
    if (e.op == "attention_fwd") e.provenance = Provenance::published;
    if (e.op == "dispatch_deepep") e.provenance = Provenance::measured;
  }
  const std::vector<OpCost> f = make_model_ops(s).kinds[0].forward;
  CHECK(f[0].provenance == Provenance::derived); // out_proj is longer than the core at 4,096 tokens
  CHECK(f[1].provenance == Provenance::measured);
  s.batch.seq_length = 32768;
  CHECK(make_model_ops(s).kinds[0].forward[0].provenance == Provenance::published);
}
