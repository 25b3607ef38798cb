// HBM traffic and communication volumes against layer_costs, sections 6 and 7. One byte takes one picosecond here.
#include <doctest/doctest.h>

#include "sim/base/error.h"
#include "sim/cost/memory.h"
#include "sim/cost/step_costs.h"
#include "tests/unit/cost/ops_support.h"

using namespace tessella;
using namespace tessella::test;

TEST_CASE("memory-bound kernels: passes over their tensors") {
  const ModelOps ops = make_model_ops(deepseek_tp1_ep64());
  const OpChain& c = ops.kinds[0];
  const double nh = 4096.0 * 7168 * 2;
  const double rows = 8 * 4096.0;
  CHECK(detail(c.forward, "norm_1").bytes == 2 * nh);
  CHECK(detail(c.backward, "norm_1_bwd").bytes == 3 * nh);
  CHECK(detail(c.forward, "residual_1").bytes == 3 * nh);
  CHECK(detail(c.forward, "act").bytes == 3 * rows * 2048 * 2);
  CHECK(detail(c.backward, "act_bwd").bytes == 5 * rows * 2048 * 2);
  CHECK(detail(c.forward, "sort_rows").bytes == 9 * nh); // rows from received tokens: (1 + K) n h
  CHECK(detail(c.forward, "norm_1").duration.ps == std::int64_t{2} * 4096 * 7168 * 2);
}

TEST_CASE("GEMM traffic: operands and result once; weight gradients accumulate in fp32") {
  const ModelOps ops = make_model_ops(deepseek_tp1_ep64());
  const OpChain& c = ops.kinds[0];
  const double m = 4096;
  const double k = 7168;
  const double n = 1536;
  CHECK(detail(c.forward, "q_a").bytes == 2 * (m * k + k * n + m * n));
  CHECK(detail(c.backward, "q_a_dgrad").bytes == 2 * (m * k + k * n + m * n));
  CHECK(detail(c.wgrad, "q_a_wgrad").bytes == 2 * (m * k + m * n) + 8 * k * n);
  // Four local experts: their weights are read once, whatever the tokens.
  CHECK(detail(c.forward, "fc2").bytes == 2 * (8 * m * 2048 + 4 * 2048.0 * 7168 + 8 * m * 7168));
}

TEST_CASE("tensor parallelism: each collective sends n h e (TP-1)/TP") {
  for (const std::int64_t tp : {2, 4}) {
    Scenario s = qwen3_tp2_ep32();
    s.parallelism.tp = tp;
    const ModelOps ops = make_model_ops(s);
    const double share = static_cast<double>(tp - 1) / static_cast<double>(tp);
    for (const char* name : {"tp_ag", "tp_rs"}) {
      CHECK(detail(ops.kinds[0].forward, name).bytes == 4096.0 * 4096 * 2 * share);
      CHECK(detail(ops.kinds[0].backward, name).bytes == 4096.0 * 4096 * 2 * share);
    }
  }
}

TEST_CASE("only latents cross the TP group before MLA's up-projections") {
  Scenario s = deepseek_tp1_ep64();
  s.parallelism.tp = 2;
  const ModelOps ops = make_model_ops(s);
  const std::vector<OpCost>& f = ops.kinds[0].forward;
  CHECK(f[1].name == "tp_ag_fwd");
  CHECK(f[1].details[0].bytes == 4096.0 * (1536 + 512 + 64) * 2 / 2);
}

TEST_CASE("expert exchange: R h e_d (EP-1)/EP, fp8 only for dispatch-type transfers") {
  Scenario s = deepseek_tp1_ep64();
  const double rows = 8 * 4096.0 * 7168 * 63 / 64;
  const ModelOps bf16 = make_model_ops(s);
  CHECK(detail(bf16.kinds[0].forward, "dispatch").bytes == rows * 2);
  CHECK(detail(bf16.kinds[0].forward, "combine").bytes == rows * 2);
  s.precision = Precision::fp8;
  const ModelOps fp8 = make_model_ops(s);
  CHECK(detail(fp8.kinds[0].forward, "dispatch").bytes == rows * (1 + 4.0 / 128));
  CHECK(detail(fp8.kinds[0].forward, "combine").bytes == rows * 2);
  CHECK(detail(fp8.kinds[0].backward, "combine").bytes == rows * (1 + 4.0 / 128));
  CHECK(detail(fp8.kinds[0].backward, "dispatch").bytes == rows * 2);
  s.dispatcher = Dispatcher::alltoall;
  CHECK(detail(make_model_ops(s).kinds[0].forward, "dispatch").bytes == rows * 2);
}

TEST_CASE("what a dispatch moves, a combine moves back, at any load") {
  const ModelOps ops = make_model_ops(qwen3_tp2_ep32());
  const std::vector<OpCost>& f = ops.kinds[0].forward;
  CHECK(f[5].details[0].bytes == f[7].details[0].bytes);
  CHECK(*f[5].by_load == *f[7].by_load);
}

TEST_CASE("fp8: one-byte operands, casts, and a bf16 router, core and head") {
  Scenario s = deepseek_tp1_ep64();
  const ModelOps bf16 = make_model_ops(s);
  s.precision = Precision::fp8;
  const ModelOps fp8 = make_model_ops(s);
  const std::vector<OpCost>& f = fp8.kinds[0].forward;
  CHECK(detail(f, "q_a").bytes == 4096.0 * 7168 + 7168.0 * 1536 + 2 * 4096.0 * 1536);
  CHECK(detail(f, "q_a_cast").bytes == doctest::Approx(4096.0 * 7168 * (2 + 1 + 4.0 / 128)));
  CHECK(detail(f, "kv_a_cast").name.empty()); // shares q_a's input
  CHECK(detail(f, "fc1_cast").name.empty());  // arrives in fp8
  CHECK(detail(f, "dispatch_cast").bytes == doctest::Approx(4096.0 * 7168 * (2 + 1 + 4.0 / 128)));
  CHECK(detail(f, "fc2_cast").bytes == doctest::Approx(8 * 4096.0 * 2048 * (2 + 1 + 4.0 / 128)));
  for (const char* same : {"router", "core", "norm_1", "act"})
    CHECK(detail(f, same) == detail(bf16.kinds[0].forward, same));
  CHECK(fp8.head.forward == bf16.head.forward);
  CHECK(flops(f) == flops(bf16.kinds[0].forward));
}

TEST_CASE("expert tensor parallelism gathers and scatters R h e (ETP-1)") {
  Scenario s = pencil_scenario(qwen3_235b(), 8);
  s.parallelism.tp = 2;
  s.parallelism.etp = 2;
  s.parallelism.ep = 4;
  const ModelOps ops = make_model_ops(s);
  const double rows = 8 * 2048.0 * 4096 * 2;
  for (const char* name : {"etp_ag", "etp_rs"}) {
    CHECK(detail(ops.kinds[0].forward, name).bytes == rows);
    CHECK(detail(ops.kinds[0].backward, name).bytes == rows);
  }
}

TEST_CASE("data parallelism: fp32 gradients and bf16 parameters, dense over DP x CP, experts over EDP") {
  Scenario s = pencil_scenario(qwen3_235b(), 8);
  s.parallelism.cp = 2;
  s.parallelism.ep = 4;
  const std::int64_t dense = 8'000'000;
  const std::int64_t experts = 6'000'000;
  const OpDetail grads = grad_reduce(s, dense, experts);
  CHECK(grads.bytes == 4 * (8e6 * 7 / 8 + 6e6 * 1 / 2));
  CHECK(grads.duration.ps == 28'000'000 + 12'000'000);
  CHECK(param_gather(s, dense, experts).bytes == 2 * (8e6 * 7 / 8 + 6e6 * 1 / 2));
  // Norm 4, Adam 30 bytes per parameter of the rank's share.
  CHECK(optimizer_step(s, dense, experts).bytes == 34 * (8e6 / 8 + 6e6 / 2));

  s.optimizer.distributed = false;
  CHECK(grad_reduce(s, dense, experts).bytes == 2 * 4 * (8e6 * 7 / 8 + 6e6 * 1 / 2)); // all-reduce
  CHECK(param_gather(s, dense, experts).duration.ps == 0);
  CHECK(optimizer_step(s, dense, experts).bytes == 34 * 14e6);
}

TEST_CASE("offloaded optimizer state: 12 bytes of the share over the host link, and out of the GPU's memory") {
  Scenario s = pencil_scenario(qwen3_235b(), 8);
  s.parallelism.ep = 4;
  s.optimizer.offload = true;
  CHECK_THROWS_AS(make_model_ops(s), NotCovered);
  CHECK_THROWS_AS(state_transfer(s, 8'000'000, 0), NotCovered);
  s.profile.entries.push_back(pencil_entry("host_link", "stream", {{"launch", 0.0}, {"bandwidth", 5e10}}));
  const OpDetail transfer = state_transfer(s, 8'000'000, 6'000'000);
  CHECK(transfer.bytes == 12 * (8e6 / 8 + 6e6 / 2));
  CHECK(transfer.duration.ps == 20 * 48'000'000);
  s.optimizer.distributed = false;
  CHECK(state_transfer(s, 8'000'000, 6'000'000).bytes == 12 * 14e6);

  const RankParams params{8'000'000, 6'000'000, 0};
  const RankMemory away = model_state(params, s.parallelism, s.optimizer, s.precision);
  s.optimizer.offload = false;
  const RankMemory here = model_state(params, s.parallelism, s.optimizer, s.precision);
  CHECK(away.optimizer.count == 0);
  CHECK(here.model_state() - away.model_state() == Bytes{12 * 14'000'000});
}

TEST_CASE("a checkpoint hash reads parameters and optimizer state once from HBM") {
  Scenario s = pencil_scenario(qwen3_235b(), 8);
  s.parallelism.ep = 4;
  const OpDetail hash = checkpoint_hash(s, 8'000'000, 6'000'000);
  CHECK(hash.bytes == 2 * 14e6 + 12 * (8e6 / 8 + 6e6 / 2));
  CHECK(hash.duration.ps == 76'000'000);
}

TEST_CASE("overlapped reduction pays its latency per bucket") {
  Scenario s = pencil_scenario(qwen3_235b(), 8);
  for (ProfileEntry& e : s.profile.entries)
    if (e.op == "reduce_scatter") e.params[0].second = 1e-3; // latency
  const Duration one = grad_reduce(s, 100'000'000, 0).duration;
  s.optimizer.overlap_grad_reduce = true; // three buckets of at most 40e6
  CHECK((grad_reduce(s, 100'000'000, 0).duration - one).ps == doctest::Approx(2e9).epsilon(1e-6));
}

TEST_CASE("dense and expert gradients have buckets of their own") {
  Scenario s = pencil_scenario(qwen3_235b(), 8);
  s.parallelism.ep = 4;
  CHECK(overlap_buckets(s, 0, 0) == 1);
  CHECK(overlap_buckets(s, 40'000'000, 0) == 1);
  CHECK(overlap_buckets(s, 40'000'001, 0) == 2);
  CHECK(overlap_buckets(s, 100'000'000, 100'000'000) == 6);
}

TEST_CASE("tied embeddings are reduced between the first and the last stage") {
  Scenario s = qwen3_tp2_ep32();
  CHECK(embedding_grad_reduce(s).duration.ps == 0);
  s.model.tie_embeddings = true;
  CHECK(embedding_grad_reduce(s).bytes == 4.0 * 151936 / 2 * 4096); // all-reduce of two: 2 (2-1)/2
  s.parallelism.pp = 1;
  CHECK(embedding_grad_reduce(s).duration.ps == 0);
}
