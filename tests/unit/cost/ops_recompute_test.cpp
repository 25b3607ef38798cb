// Recomputation adds forward kernels to the backward chain, exactly those and nothing else.
#include <doctest/doctest.h>

#include "tests/unit/cost/ops_support.h"

using namespace tessella;
using namespace tessella::test;
using Names = std::vector<std::string>;

namespace {

OpChain with(Scenario s, std::vector<RecomputeModule> modules, std::size_t kind = 0) {
  s.recompute = {RecomputeGranularity::selective, std::move(modules)};
  return make_model_ops(s).kinds[kind];
}

// Names and time of what is recomputed, prefix removed.
Names recomputed(const OpChain& chain) {
  Names list;
  for (const OpDetail& d : details(chain.backward))
    if (d.name.rfind("rc_", 0) == 0) list.push_back(d.name.substr(3));
  return list;
}

// The backward chain grew by the forward time of exactly these kernels.
void check_adds(const OpChain& plain, const OpChain& more, const Names& kernels) {
  CHECK(recomputed(more) == kernels);
  Duration added;
  for (const std::string& k : kernels) added += detail(plain.forward, k).duration;
  CHECK(total(more.backward) == total(plain.backward) + added);
  CHECK(more.forward == plain.forward);
  CHECK(more.wgrad == plain.wgrad);
}

} // namespace

TEST_CASE("selective recomputation, module by module") {
  using M = RecomputeModule;
  const Scenario s = deepseek_tp1_ep64();
  const ModelOps plain = make_model_ops(s);
  const OpChain& moe = plain.kinds[0];
  const OpChain& dense = plain.kinds[1];
  check_adds(moe, with(s, {M::core_attn}), {"core"});
  check_adds(moe, with(s, {M::moe_act}), {"act"});
  check_adds(moe, with(s, {M::layernorm}), {"norm_2", "norm_1"});
  check_adds(moe, with(s, {M::mla_up_proj}), {"q_b", "kv_b", "rope_concat"});
  check_adds(moe, with(s, {M::shared_experts}), {"shared_fc1", "shared_act", "shared_fc2"});
  check_adds(moe, with(s, {M::moe_act, M::layernorm}), {"act", "norm_2", "norm_1"});
  check_adds(moe, with(s, {M::mlp}), {});
  check_adds(dense, with(s, {M::mlp}, 1), {"fc1", "act", "fc2"});
  check_adds(dense, with(s, {M::moe_act, M::moe, M::shared_experts}, 1), {});
}

TEST_CASE("recomputing the MoE block repeats both exchanges, in front") {
  const Scenario s = deepseek_tp1_ep64();
  const OpChain plain = make_model_ops(s).kinds[0];
  const OpChain more = with(s, {RecomputeModule::moe, RecomputeModule::moe_act});
  CHECK(names(more.backward) == Names{"rc_attention_bwd", "rc_dispatch_bwd", "rc_experts_bwd", "rc_combine_bwd",
                                      "rc_join_bwd", "combine_bwd", "experts_bwd", "dispatch_bwd", "attention_bwd"});
  check_adds(plain, more,
             {"shared_fc1", "shared_act", "shared_fc2", "router", "router_topk", "dispatch", "sort_rows", "fc1", "act",
              "fc2", "unsort_rows", "combine", "shared_join"});
}

TEST_CASE("full recomputation is one more forward") {
  for (Scenario s : {deepseek_tp1_ep64(), qwen3_tp2_ep32()}) {
    const ModelOps plain = make_model_ops(s);
    s.recompute.granularity = RecomputeGranularity::full;
    const ModelOps more = make_model_ops(s);
    for (std::size_t k = 0; k < plain.kinds.size(); ++k) {
      CHECK(total(more.kinds[k].backward) == total(plain.kinds[k].backward) + total(plain.kinds[k].forward));
      CHECK(more.kinds[k].backward.size() == plain.kinds[k].backward.size() + plain.kinds[k].forward.size());
      CHECK(more.kinds[k].backward[0].name.rfind("rc_", 0) == 0);
    }
    CHECK(more.head == plain.head);
  }
}
