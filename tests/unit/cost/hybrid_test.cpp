// Layers of one half each (Nemotron-H), Mamba-2 and latent experts, on the pencil GPU: one FLOP or one byte takes one
// picosecond.
#include <doctest/doctest.h>

#include "sim/cost/activation.h"
#include "sim/cost/flops.h"
#include "sim/cost/memory.h"
#include "sim/cost/params.h"
#include "tests/unit/cost/ops_support.h"

using namespace tessella;
using namespace tessella::test;

namespace {

constexpr double n = 4096;

Mamba2 mamba() {
  return {128, 64, 128, 8, 4, 128}; // Nemotron-3 Super's
}

MoeFfn latent_moe() {
  MoeFfn moe;
  moe.num_experts = 512;
  moe.router_topk = 22;
  moe.moe_ffn_hidden_size = 2688;
  moe.gated = false;
  moe.shared_ffn_hidden_size = 5376;
  moe.moe_latent_size = 1024;
  return moe;
}

// Each layer of `fused` as two: the attention, then the FFN.
Model split(const Model& fused) {
  Model m = fused;
  m.kinds.clear();
  m.layers.clear();
  for (const LayerKind& k : fused.kinds) {
    m.kinds.push_back({k.name + "_attention", k.attention, NoFfn{}});
    m.kinds.push_back({k.name + "_ffn", NoAttention{}, k.ffn});
  }
  for (const std::int32_t k : fused.layers) m.layers.insert(m.layers.end(), {2 * k, 2 * k + 1});
  return m;
}

Duration whole(const OpChain& chain) {
  return total(chain.forward) + total(chain.backward) + total(chain.wgrad);
}

double same_moe_flops(const Model& m) {
  return model_flops_per_token(m, 4096, FlopsConvention::causal).total();
}

} // namespace

TEST_CASE("a layer written as two halves costs, weighs and keeps the same") {
  for (const Model& fused : {qwen3_235b(), deepseek_v3(), qwen3_next_80b()}) {
    const Model halves = split(fused);
    CHECK(model_size(halves) == model_size(fused));
    CHECK(same_moe_flops(halves) == doctest::Approx(same_moe_flops(fused)).epsilon(1e-12));
    Scenario a = pencil_scenario(fused, 64);
    Scenario b = pencil_scenario(halves, 64);
    for (Scenario* s : {&a, &b}) {
      s->parallelism.tp = 2;
      s->parallelism.ep = 16;
    }
    const ModelOps one = make_model_ops(a);
    const ModelOps two = make_model_ops(b);
    const ActivationShape shape{.tokens = 4096, .tp = 2};
    for (std::size_t k = 0; k < fused.kinds.size(); ++k) {
      CHECK(whole(one.kinds[k]) == whole(two.kinds[2 * k]) + whole(two.kinds[2 * k + 1]));
      CHECK(kept_bytes(fused.hidden_size, fused.kinds[k], shape, {}) ==
            kept_bytes(fused.hidden_size, halves.kinds[2 * k], shape, {}) +
                kept_bytes(fused.hidden_size, halves.kinds[2 * k + 1], shape, {}));
    }
  }
}

TEST_CASE("between layers that wait for the host, an attention alone waits as it does inside one") {
  const Model halves = split(qwen3_235b());
  Scenario s = pencil_scenario(halves, 64);
  s.parallelism.ep = 16;
  const Duration quick = total(make_model_ops(s).kinds[0].forward);
  ProfileEntry host = pencil_entry("host_moe", "constant", {{"seconds", 1.0}});
  s.profile.entries.push_back(host);
  const OpChain slow = make_model_ops(s).kinds[0];
  std::int64_t kernels = 0;
  for (const OpDetail& d : details(slow.forward)) kernels += d.bytes > 0.0 ? 1 : 0;
  CHECK(total(slow.forward) > quick);
  CHECK(total(slow.forward).ps == 1'000'000'000'000 * kernels); // a second each
  // Without experts nobody loses the lead.
  s.model = split(one_kind(4096, 1000, {"dense", qwen3_235b().kinds[0].attention, DenseFfn{4096, true}}, 2));
  s.parallelism.ep = 1;
  CHECK(total(make_model_ops(s).kinds[0].forward) < total(slow.forward));
}

TEST_CASE("Mamba-2: projections, convolution, scan, gated norm") {
  for (const std::int64_t tp : {1, 2}) {
    Scenario s = pencil_scenario(one_kind(4096, 131072, {"mamba", mamba(), NoFfn{}}, 40), 8);
    s.parallelism.tp = tp;
    const double t = static_cast<double>(tp);
    const std::vector<OpCost> f = make_model_ops(s).kinds[0].forward;
    // z, x 8192 each; B, C 8 * 128 each; one step size per head
    CHECK(detail(f, "in_proj").flops.count == 2 * n * 4096 * (2 * 8192 + 2 * 1024 + 128) / t);
    CHECK(detail(f, "conv").bytes == 2 * 2 * n * (8192 + 2 * 1024) / t);
    CHECK(detail(f, "core").flops.count == 7 * n * 8192 * 128 / t);
    CHECK(detail(f, "gated_norm").bytes == 3 * 2 * n * 8192 / t);
    CHECK(detail(f, "out_proj").flops.count == 2 * n * 8192 * 4096 / t);
    // executed: per token 2 (8 * 128 * 128 + 128 (128 * 64 + 2 * 128 * 64)) FLOPs; 32 chunks of 4 MiB of states
    const double executed = n * 2 * (8 * 128 * 128 + 128 * (128 * 64 + 2 * 128 * 64)) / t;
    CHECK(detail(f, "core").duration.ps == static_cast<std::int64_t>(executed + 4.0 * 32 * 4 * 128 * 64 * 128 / t));
  }
}

TEST_CASE("Mamba-2 under context parallelism: some heads of the whole sequence") {
  Scenario s = pencil_scenario(one_kind(4096, 131072, {"mamba", mamba(), NoFfn{}}, 40), 8);
  const OpChain one = make_model_ops(s).kinds[0];
  s.parallelism.cp = 4;
  const OpChain four = make_model_ops(s).kinds[0];
  CHECK(detail(four.forward, "core").duration.ps * 4 == detail(one.forward, "core").duration.ps);
  CHECK(detail(four.forward, "in_proj").flops.count * 4 == detail(one.forward, "in_proj").flops.count);
  CHECK(detail(four.forward, "cp_a2a").duration > Duration{0});
  CHECK(detail(one.forward, "cp_a2a").duration == Duration{0});
}

TEST_CASE("Mamba-2 is linear in the sequence, and counted as Megatron-LM does") {
  const LayerKind kind{"mamba", mamba(), NoFfn{}};
  const FlopsBreakdown f = layer_flops_per_token(4096, kind, 4096, FlopsConvention::causal);
  CHECK(f == layer_flops_per_token(4096, kind, 262144, FlopsConvention::full_attention));
  CHECK(f.total() == 3.0 * (2 * 4096.0 * 18560 + 7 * 8192.0 * 128 + 2 * 8192.0 * 4096));
  CHECK(f.mlp == 0.0);
}

TEST_CASE("Mamba-2: parameters and kept bytes by hand") {
  // in 4096 * 18560, convolution 5 * 10240, A, D and dt 3 * 128, norm 8192, out 8192 * 4096; the layer's norm apart
  const LayerKind kind{"mamba", mamba(), NoFfn{}};
  CHECK(attention_params(4096, mamba()) == ParamCount{76021760 + 51200 + 384 + 8192 + 33554432, 0, 0});
  CHECK(layer_params(4096, kind).replicated == 4096);
  // per token: layer input and its norm 2 * 8192; in_proj 37120; scan, norm input and output 3 * 16384
  CHECK(kept_bytes(4096, kind, {.tokens = 1}, {}) == 2 * 8192.0 + 37120.0 + 3 * 16384.0);
  CHECK(kept_bytes(4096, kind, {.tokens = 8, .tp = 8}, {}) == 2 * 8192.0 + 37120.0 + 3 * 16384.0);
  CHECK(kept_bytes(4096, kind, {.tokens = 1}, {RecomputeGranularity::full, {}}) == 8192.0);
}

TEST_CASE("latent experts: the exchange, the permutation and the experts see the latent width") {
  Scenario s = pencil_scenario(one_kind(4096, 131072, {"moe", NoAttention{}, latent_moe()}, 40), 64);
  s.parallelism.ep = 32;
  const std::vector<OpCost> f = make_model_ops(s).kinds[0].forward;
  std::get<MoeFfn>(s.model.kinds[0].ffn).moe_latent_size = 0;
  const std::vector<OpCost> plain = make_model_ops(s).kinds[0].forward;
  for (const char* name : {"dispatch", "combine"}) {
    CAPTURE(name);
    CHECK(detail(f, name).bytes * 4 == detail(plain, name).bytes);
    CHECK(detail(f, name).duration < detail(plain, name).duration);
  }
  CHECK(detail(f, "fc1").flops.count == 2 * n * 22 * 1024 * 2688);
  CHECK(detail(f, "fc2").flops.count == detail(f, "fc1").flops.count);
  CHECK(detail(f, "latent_down").flops.count == 2 * n * 4096 * 1024);
  CHECK(detail(f, "latent_up").flops.count == 2 * n * 1024 * 4096);
  CHECK(detail(plain, "latent_up").flops.count == 0);
  CHECK(detail(f, "shared_fc1").flops == detail(plain, "shared_fc1").flops);
  CHECK(detail(f, "router").flops == detail(plain, "router").flops);
}

TEST_CASE("latent experts: parameters, gradients of both projections, kept bytes") {
  const ParamCount p = ffn_params(4096, latent_moe());
  CHECK(p.routed == 512LL * 2 * 1024 * 2688);
  CHECK(p.replicated == 4096 * 512 + 2 * 4096 * 1024);
  Scenario s = pencil_scenario(one_kind(4096, 131072, {"moe", NoAttention{}, latent_moe()}, 40), 64);
  s.parallelism.ep = 32;
  const OpChain chain = make_model_ops(s).kinds[0];
  for (const std::string name : {"latent_down", "latent_up"}) {
    CAPTURE(name);
    CHECK(detail(chain.backward, name + "_dgrad").flops == detail(chain.forward, name).flops);
    CHECK(detail(chain.wgrad, name + "_wgrad").flops == detail(chain.forward, name).flops);
  }
  // The forward count times three is the model FLOPs, router apart.
  const double counted = flops(chain.forward) - detail(chain.forward, "router").flops.count;
  CHECK(3.0 * counted / n == layer_flops_per_token(4096, s.model.kinds[0], 4096, FlopsConvention::causal).total());
  MoeFfn plain = latent_moe();
  plain.moe_latent_size = 0;
  const double less = kept_bytes(4096, {"", NoAttention{}, plain}, {.tokens = 1}, {}) -
                      kept_bytes(4096, {"", NoAttention{}, latent_moe()}, {.tokens = 1}, {});
  CHECK(less == 2.0 * (22 * (4096 - 1024) - 1024)); // narrower rows, and the input of the projection back
}

TEST_CASE("MTP layers that repeat one block weigh one and work as many") {
  Model m = one_kind(4096, 131072, {"moe", qwen3_235b().kinds[0].attention, latent_moe()}, 4);
  m.mtp_num_layers = 2;
  const ModelSize apart = model_size(m);
  const double flops_apart = same_moe_flops(m);
  m.mtp_use_repeated_layer = true;
  CHECK(model_size(m).mtp * 2 == apart.mtp);
  CHECK(same_moe_flops(m) == flops_apart);
}

TEST_CASE("working memory of a mixer alone: the gradients around its input projection") {
  Scenario s = pencil_scenario(one_kind(4096, 131072, {"mamba", mamba(), NoFfn{}}, 8), 8);
  s.partition = {{{0, 8, 0, true, true}}};
  Schedule schedule;
  schedule.num_ranks = 1;
  schedule.stage_ranks = {{PpRank{0}}};
  schedule.ranks = {{}};
  const MemoryAssumptions bare{.fragmentation = 1.0, .context = {0}};
  CHECK(memory_report(s, schedule, bare).ranks[0].buffers.count == 2 * 4096 * (18560 + 4096));
}
