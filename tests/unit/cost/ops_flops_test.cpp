// FLOPs of every op against the table of layer_costs, section 5, and of whole models against Megatron's count
// (section 9.2). The pencil GPU runs one FLOP per picosecond, so durations of GEMMs are FLOP counts.
#include <doctest/doctest.h>

#include "tests/unit/cost/ops_support.h"

using namespace tessella;
using namespace tessella::test;

namespace {

// Forward FLOPs per token of the whole model, x3, without the router, which Megatron does not count. GFLOP.
double megatron_gflop_per_token(const Scenario& s) {
  const ModelOps ops = make_model_ops(s);
  const auto counted = [](const std::vector<OpCost>& chain) {
    double sum = 0.0;
    for (const OpDetail& d : details(chain))
      if (d.name != "router") sum += d.flops.count;
    return sum;
  };
  double sum = counted(ops.head.forward);
  for (const std::int32_t kind : s.model.layers) sum += counted(ops.kinds[static_cast<std::size_t>(kind)].forward);
  if (s.model.mtp_num_layers > 0) {
    sum += counted(ops.mtp_extra.forward);
    sum += counted(ops.kinds[static_cast<std::size_t>(s.model.mtp_kind)].forward);
  }
  return 3.0 * sum / static_cast<double>(s.tokens_per_tp_group()) * 1e-9;
}

constexpr double n = 4096;

} // namespace

TEST_CASE("GQA: projections and core, TP2") {
  const ModelOps ops = make_model_ops(qwen3_tp2_ep32());
  const std::vector<OpCost>& f = ops.kinds[0].forward;
  CHECK(detail(f, "qkv").flops.count == 2 * n * 4096 * (64 + 2 * 4) * 128 / 2);
  CHECK(detail(f, "core").flops.count == 4 * n * 4096 * 64 * 128 / 2 / 2);
  CHECK(detail(f, "out_proj").flops.count == 2 * n * 64 * 128 * 4096 / 2);
  CHECK(detail(f, "router").flops.count == 2 * (n / 2) * 4096 * 128);
  CHECK(detail(f, "fc1").flops.count + detail(f, "fc2").flops.count == 6 * (n / 2 * 8) * 4096 * 1536);
  CHECK(detail(f, "qkv").duration.ps == std::int64_t{4096} * 4096 * (64 + 2 * 4) * 128);
}

TEST_CASE("MLA and shared expert, TP1 and TP2") {
  for (const std::int64_t tp : {1, 2}) {
    Scenario s = deepseek_tp1_ep64();
    s.parallelism.tp = tp;
    const ModelOps ops = make_model_ops(s);
    const double t = static_cast<double>(tp);
    const std::vector<OpCost>& f = ops.kinds[0].forward;
    CHECK(detail(f, "q_a").flops.count == 2 * n / t * 7168 * 1536);
    CHECK(detail(f, "q_b").flops.count == 2 * n * 1536 * 128 * 192 / t);
    CHECK(detail(f, "kv_a").flops.count == 2 * n / t * 7168 * (512 + 64));
    CHECK(detail(f, "kv_b").flops.count == 2 * n * 512 * 128 * 256 / t);
    CHECK(detail(f, "core").flops.count == 2 * n * 4096 * 128 * (192 + 128) / t / 2);
    CHECK(detail(f, "out_proj").flops.count == 2 * n * 128 * 128 * 7168 / t);
    CHECK(detail(f, "shared_fc1").flops.count + detail(f, "shared_fc2").flops.count == 6 * n * 7168 * 2048 / t);
    CHECK(detail(ops.kinds[1].forward, "fc1").flops.count == 4 * n * 7168 * 18432 / t);
  }
}

TEST_CASE("an MLA model without latent queries projects them from the hidden state") {
  Scenario s = deepseek_tp1_ep64();
  std::get<MultiLatentAttention>(s.model.kinds[0].attention).q_lora_rank = std::nullopt;
  const ModelOps ops = make_model_ops(s);
  CHECK(detail(ops.kinds[0].forward, "q_b").flops.count == 2 * n * 7168 * 128 * 192);
  CHECK(detail(ops.kinds[0].forward, "q_a").flops.count == 0);
}

TEST_CASE("each GEMM's input and weight gradient cost what its forward does; attention 2.5 times") {
  const ModelOps ops = make_model_ops(deepseek_tp1_ep64());
  const OpChain& chain = ops.kinds[0];
  for (const char* gemm : {"q_a", "q_b", "kv_a", "kv_b", "out_proj", "router", "fc1", "fc2", "shared_fc1"}) {
    CAPTURE(gemm);
    const std::string name = gemm;
    CHECK(detail(chain.backward, name + "_dgrad").flops == detail(chain.forward, name).flops);
    CHECK(detail(chain.wgrad, name + "_wgrad").flops == detail(chain.forward, name).flops);
  }
  CHECK(detail(chain.backward, "core_bwd").flops.count == 2.5 * detail(chain.forward, "core").flops.count);
}

TEST_CASE("an output gate doubles the query projection; a window bounds the core") {
  Scenario s = pencil_scenario(qwen3_next_80b(), 8);
  CHECK(detail(make_model_ops(s).kinds[1].forward, "qkv").flops.count == 2 * n * 2048 * (2 * 16 + 2 * 2) * 256);
  std::get<GroupedQueryAttention>(s.model.kinds[1].attention).window = 1024;
  // Rows 0..1023 see half of the window on average, the others all of it.
  CHECK(detail(make_model_ops(s).kinds[1].forward, "core").flops.count ==
        4.0 * (n * 1024 - 1024.0 * 1024 / 2) * 16 * 256);
}

TEST_CASE("context parallelism divides every count") {
  Scenario s = pencil_scenario(qwen3_235b(), 8);
  const double whole = flops(make_model_ops(s).kinds[0].forward);
  s.parallelism.cp = 4;
  CHECK(flops(make_model_ops(s).kinds[0].forward) == doctest::Approx(whole / 4).epsilon(1e-12));
}

TEST_CASE("expert tensor parallelism keeps the experts' FLOPs per rank") {
  Scenario s = pencil_scenario(qwen3_235b(), 8);
  s.parallelism.ep = 8;
  const auto experts = [](const Scenario& x) {
    const std::vector<OpCost> f = make_model_ops(x).kinds[0].forward;
    return detail(f, "fc1").flops.count + detail(f, "fc2").flops.count;
  };
  const double one = experts(s);
  s.parallelism.ep = 4;
  s.parallelism.etp = 2; // twice the rows, half the width
  CHECK(experts(s) == one);
}

TEST_CASE("whole models: Megatron's FLOPs per token") {
  Scenario qwen = pencil_scenario(qwen3_235b(), 8);
  CHECK(megatron_gflop_per_token(qwen) == doctest::Approx(148.03).epsilon(5e-4));

  Scenario deepseek = pencil_scenario(deepseek_v3(), 64);
  CHECK(megatron_gflop_per_token(deepseek) == doctest::Approx(249.81).epsilon(5e-4));
  deepseek.model.mtp_num_layers = 1;
  CHECK(megatron_gflop_per_token(deepseek) == doctest::Approx(259.99).epsilon(5e-4));

  Scenario next = pencil_scenario(qwen3_next_80b(), 8);
  CHECK(megatron_gflop_per_token(next) == doctest::Approx(22.74).epsilon(1.5e-3));
  next.model.mtp_num_layers = 1;
  next.model.mtp_kind = 0; // the oracle's 49th layer continues the period of four
  CHECK(megatron_gflop_per_token(next) == doctest::Approx(25.08).epsilon(1.5e-3));
}
