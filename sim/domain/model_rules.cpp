// TP, ETP, EP and CP against the dimensions of the model; recompute modules against its layers.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/domain/legality_rules.h"

namespace tessella {
namespace {

// One dimension that a parallel size must divide.
void must_divide(Judge& judge, const std::string& what, std::int64_t size, const char* key, std::int64_t parts,
                 std::int64_t Parallelism::*member, Rule rule) {
  if (size % parts == 0) return;
  judge.violate(fmt::format("parallelism.{}", key),
                fmt::format("{} {} is not a multiple of {} {}", what, size, key, parts),
                nearest_plan(judge, {{key, member, divisors(size)}}, rule));
}

void tensor_must_divide(Judge& judge, const std::string& what, std::int64_t size) {
  must_divide(judge, what, size, "tensor_model_parallel_size", judge.in.parallelism.tp, &Parallelism::tp, tensor_rules);
}

void kv_head_rule(Judge& judge, const LayerKind& kind, std::int64_t kv_heads) {
  const std::int64_t tp = judge.in.parallelism.tp;
  if (kv_heads < tp && tp % kv_heads == 0) {
    judge.warn(
        fmt::format("layer kind '{}' has {} key/value heads for tensor_model_parallel_size {}: each is replicated "
                    "on {} ranks",
                    kind.name, kv_heads, tp, tp / kv_heads));
    return;
  }
  tensor_must_divide(judge, fmt::format("kv_heads of layer kind '{}'", kind.name), kv_heads);
}

void attention_rule(Judge& judge, const LayerKind& kind) {
  if (const auto* gqa = std::get_if<GroupedQueryAttention>(&kind.attention)) {
    tensor_must_divide(judge, fmt::format("heads of layer kind '{}'", kind.name), gqa->heads);
    kv_head_rule(judge, kind, gqa->kv_heads);
  } else if (const auto* mla = std::get_if<MultiLatentAttention>(&kind.attention)) {
    tensor_must_divide(judge, fmt::format("heads of layer kind '{}'", kind.name), mla->heads);
  } else if (const auto* gdn = std::get_if<GatedDeltaNet>(&kind.attention)) {
    tensor_must_divide(judge, fmt::format("key_heads of layer kind '{}'", kind.name), gdn->key_heads);
    tensor_must_divide(judge, fmt::format("value_heads of layer kind '{}'", kind.name), gdn->value_heads);
  } else if (const auto* mamba = std::get_if<Mamba2>(&kind.attention)) {
    tensor_must_divide(judge, fmt::format("mamba_num_heads of layer kind '{}'", kind.name), mamba->mamba_num_heads);
    tensor_must_divide(judge, fmt::format("n_groups of layer kind '{}'", kind.name), mamba->n_groups);
  }
}

void ffn_rule(Judge& judge, const LayerKind& kind) {
  if (const auto* dense = std::get_if<DenseFfn>(&kind.ffn)) {
    tensor_must_divide(judge, fmt::format("ffn_hidden_size of layer kind '{}'", kind.name), dense->ffn_hidden_size);
    return;
  }
  if (moe_of(kind) == nullptr) return;
  const MoeFfn& moe = *moe_of(kind);
  if (moe.shared_ffn_hidden_size > 0)
    tensor_must_divide(judge, fmt::format("shared_ffn_hidden_size of layer kind '{}'", kind.name),
                       moe.shared_ffn_hidden_size);
  must_divide(judge, fmt::format("moe_ffn_hidden_size of layer kind '{}'", kind.name), moe.moe_ffn_hidden_size,
              "expert_tensor_parallel_size", judge.in.parallelism.etp, &Parallelism::etp, tensor_rules);
}

void router_rule(Judge& judge, const LayerKind& kind, const MoeFfn& moe) {
  const auto refuse = [&](const std::string& text) {
    judge.violate("model", fmt::format("layer kind '{}': {}", kind.name, text));
  };
  if (moe.router_topk > moe.num_experts)
    refuse(fmt::format("router_topk {} is more than num_experts {}", moe.router_topk, moe.num_experts));
  if (moe.router_groups < 1 || moe.num_experts % moe.router_groups != 0)
    refuse(fmt::format("num_experts {} is not a multiple of router_groups {}", moe.num_experts, moe.router_groups));
  if (moe.router_topk_groups > moe.router_groups)
    refuse(
        fmt::format("router_topk_groups {} is more than router_groups {}", moe.router_topk_groups, moe.router_groups));
}

// EP and an explicit ETP say something about experts; a dense model has none.
void dense_model_rule(Judge& judge) {
  const Parallelism& p = judge.in.parallelism;
  if (p.ep > 1)
    judge.violate("parallelism.expert_model_parallel_size",
                  fmt::format("expert_model_parallel_size is {}, but the model has no MoE layer (0 experts)", p.ep),
                  "expert_model_parallel_size: 1");
  if (p.etp > 1 && !judge.in.etp_was_defaulted)
    judge.violate("parallelism.expert_tensor_parallel_size",
                  fmt::format("expert_tensor_parallel_size is {}, but the model has no MoE layer (0 experts)", p.etp),
                  "expert_tensor_parallel_size: 1");
}

} // namespace

void tensor_rules(Judge& judge) {
  tensor_must_divide(judge, "hidden_size", judge.in.model.hidden_size);
  for (const LayerKind* kind : kinds_in_use(judge.in.model)) {
    attention_rule(judge, *kind);
    ffn_rule(judge, *kind);
  }
}

void expert_rules(Judge& judge) {
  const Parallelism& p = judge.in.parallelism;
  const MoeFfn* first = nullptr;
  for (const LayerKind* kind : kinds_in_use(judge.in.model)) {
    const MoeFfn* moe = moe_of(*kind);
    if (moe == nullptr) continue;
    if (first == nullptr) first = moe;
    if (moe->num_experts != first->num_experts || moe->router_topk != first->router_topk)
      judge.violate(
          "model", fmt::format("layer kind '{}' routes to {} of {} experts, another MoE kind to {} of {}: Tessella "
                               "needs the same in all MoE layers",
                               kind->name, moe->router_topk, moe->num_experts, first->router_topk, first->num_experts));
    router_rule(judge, *kind, *moe);
    must_divide(judge, fmt::format("num_experts of layer kind '{}'", kind->name), moe->num_experts,
                "expert_model_parallel_size", p.ep, &Parallelism::ep, expert_rules);
  }
  if (first == nullptr) {
    dense_model_rule(judge);
  } else if (p.tp > 1 && !p.sequence_parallel) {
    judge.violate(
        "parallelism.sequence_parallel",
        fmt::format("an MoE model with tensor_model_parallel_size {} trains only with sequence_parallel", p.tp),
        "sequence_parallel: true");
  }
}

void sequence_rules(Judge& judge) {
  const Parallelism& p = judge.in.parallelism;
  const std::int64_t seq = judge.in.batch.seq_length;
  // Zigzag context parallelism gives each rank two chunks; sequence parallelism shards a rank's tokens over TP.
  const std::int64_t by_cp = p.cp > 1 ? saturating_product({2, p.cp}) : 1;
  const std::int64_t by_tp = p.sequence_parallel && p.tp > 1 ? saturating_product({p.cp, p.tp}) : 1;
  const std::int64_t unit = saturating_product({by_cp / std::gcd(by_cp, by_tp), by_tp});
  const std::int64_t below = seq - seq % unit;
  const std::int64_t nearest =
      below == 0 || seq - below > unit / 2 ? saturating_product({seq / unit + 1, unit}) : below;
  const std::string suggestion = fmt::format("seq_length: {}", nearest);
  if (seq % by_cp != 0)
    judge.violate(
        "batch.seq_length",
        fmt::format("seq_length {} is not a multiple of 2 * context_parallel_size = 2 * {} = {}", seq, p.cp, by_cp),
        suggestion);
  if (seq % by_tp != 0)
    judge.violate("batch.seq_length",
                  fmt::format("sequence parallelism: seq_length {} is not a multiple of context_parallel_size * "
                              "tensor_model_parallel_size = {} * {} = {}",
                              seq, p.cp, p.tp, by_tp),
                  suggestion);
}

} // namespace tessella
