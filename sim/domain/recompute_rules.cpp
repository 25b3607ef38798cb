// --recompute-modules against the layers that the model has.
#include <fmt/format.h>

#include <algorithm>

#include "sim/domain/legality_rules.h"

namespace tessella {
namespace {

struct LayerTypes {
  bool mla = false;
  bool dense = false;
  bool moe = false;
  bool shared_experts = false;
};

LayerTypes layer_types(const Model& model) {
  LayerTypes types;
  for (const LayerKind* kind : kinds_in_use(model)) {
    types.mla |= std::holds_alternative<MultiLatentAttention>(kind->attention);
    const MoeFfn* moe = moe_of(*kind);
    types.dense |= std::holds_alternative<DenseFfn>(kind->ffn);
    types.moe |= moe != nullptr;
    types.shared_experts |= moe != nullptr && moe->shared_ffn_hidden_size > 0;
  }
  return types;
}

// What the module needs and the model lacks; "" when it has it.
std::string lacking(RecomputeModule module, const LayerTypes& types) {
  switch (module) {
  case RecomputeModule::mla_up_proj:
    return types.mla ? "" : "multi-latent attention";
  case RecomputeModule::moe_act:
  case RecomputeModule::moe:
    return types.moe ? "" : "MoE layers";
  case RecomputeModule::shared_experts:
    return types.shared_experts ? "" : "shared experts";
  case RecomputeModule::mlp:
    return types.dense ? "" : "dense FFN layers";
  case RecomputeModule::core_attn:
  case RecomputeModule::layernorm:
    return "";
  }
  return "";
}

std::string without_lacking(const Recompute& recompute, const LayerTypes& types) {
  std::string list;
  for (const RecomputeModule m : recompute.modules)
    if (lacking(m, types).empty()) list += fmt::format("{}{}", list.empty() ? "" : ", ", name(m));
  return list.empty() ? "granularity: none" : fmt::format("modules: [{}]", list);
}

} // namespace

void recompute_rules(Judge& judge) {
  const Recompute& recompute = judge.in.recompute;
  if (recompute.granularity != RecomputeGranularity::selective) {
    if (!recompute.modules.empty()) judge.warn("recompute.modules is ignored: it belongs to granularity: selective");
    return;
  }
  const LayerTypes types = layer_types(judge.in.model);
  for (const RecomputeModule m : recompute.modules) {
    const std::string missing = lacking(m, types);
    if (missing.empty()) continue;
    // Megatron takes mlp on an all-MoE model and recomputes nothing.
    if (m == RecomputeModule::mlp)
      judge.warn("recompute module mlp has no effect: the model has no dense FFN layers");
    else
      judge.violate("recompute.modules",
                    fmt::format("recompute module {} needs {}, and the model has none", name(m), missing),
                    without_lacking(recompute, types));
  }
}

} // namespace tessella
