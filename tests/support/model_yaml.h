// Reads models/*.yaml for tests of the layers below sim/config: no error positions, no strictness. What a user types
// goes through sim/config.
#pragma once

#include <yaml-cpp/yaml.h>

#include <stdexcept>
#include <string>

#include "sim/domain/model.h"

namespace tessella::test {

template <class T>
T get(const YAML::Node& node, const char* key, T otherwise) {
  return node[key] ? node[key].template as<T>() : otherwise;
}

inline std::int64_t integer(const YAML::Node& node, const char* key) {
  return get<std::int64_t>(node, key, 0);
}

inline Attention read_attention(const YAML::Node& y) {
  const auto type = y["type"].as<std::string>();
  if (type == "gqa") {
    GroupedQueryAttention a{
        integer(y, "heads"),          integer(y, "kv_heads"),   integer(y, "head_dim"), {},
        get(y, "output_gate", false), get(y, "qk_norm", false), get(y, "bias", false),  get(y, "output_bias", false),
        get(y, "sinks", false)};
    if (y["window"]) a.window = integer(y, "window");
    return a;
  }
  if (type == "mla") {
    MultiLatentAttention a{integer(y, "heads"),
                           {},
                           integer(y, "kv_lora_rank"),
                           integer(y, "qk_nope_head_dim"),
                           integer(y, "qk_rope_head_dim"),
                           integer(y, "v_head_dim")};
    if (y["q_lora_rank"]) a.q_lora_rank = integer(y, "q_lora_rank");
    return a;
  }
  if (type == "mamba2")
    return Mamba2{integer(y, "mamba_num_heads"), integer(y, "mamba_head_dim"), integer(y, "ssm_state_size"),
                  integer(y, "n_groups"),        integer(y, "conv_kernel"),    get<std::int64_t>(y, "chunk_size", 128)};
  if (type != "gated_delta_net") throw std::runtime_error("attention type " + type);
  return GatedDeltaNet{integer(y, "key_heads"), integer(y, "value_heads"), integer(y, "key_head_dim"),
                       integer(y, "value_head_dim"), integer(y, "conv_kernel")};
}

inline Ffn read_ffn(const YAML::Node& y) {
  if (y["type"].as<std::string>() == "dense") return DenseFfn{integer(y, "ffn_hidden_size"), get(y, "gated", true)};
  MoeFfn f;
  f.num_experts = integer(y, "num_experts");
  f.router_topk = integer(y, "router_topk");
  f.moe_ffn_hidden_size = integer(y, "moe_ffn_hidden_size");
  f.gated = get(y, "gated", true);
  f.expert_bias = get(y, "expert_bias", false);
  f.router_bias = get(y, "router_bias", false);
  f.shared_ffn_hidden_size = integer(y, "shared_ffn_hidden_size");
  f.shared_gate = get(y, "shared_gate", false);
  f.router_groups = get<std::int64_t>(y, "router_groups", 1);
  f.router_topk_groups = get<std::int64_t>(y, "router_topk_groups", 1);
  f.moe_latent_size = integer(y, "moe_latent_size");
  return f;
}

inline std::int32_t kind_index(const Model& model, const std::string& kind) {
  for (std::size_t i = 0; i < model.kinds.size(); ++i)
    if (model.kinds[i].name == kind) return static_cast<std::int32_t>(i);
  throw std::runtime_error("no layer kind " + kind);
}

inline std::int32_t kind_of_letter(const Model& model, char letter) {
  for (std::size_t i = 0; i < model.kinds.size(); ++i) {
    const LayerKind& k = model.kinds[i];
    const bool mamba = std::holds_alternative<Mamba2>(k.attention);
    const bool none = std::holds_alternative<NoAttention>(k.attention);
    const char ours = none ? (moe_of(k) ? 'E' : '-') : !std::holds_alternative<NoFfn>(k.ffn) ? 0 : mamba ? 'M' : '*';
    if (ours == letter) return static_cast<std::int32_t>(i);
  }
  throw std::runtime_error("no layer kind of that letter");
}

inline void add_layers(Model& model, const YAML::Node& list) {
  if (list.IsScalar())
    for (const char letter : list.as<std::string>()) model.layers.push_back(kind_of_letter(model, letter));
  for (const YAML::Node& entry : list) {
    if (entry["layers"]) {
      for (std::int64_t i = 0; i < integer(entry, "repeat"); ++i) add_layers(model, entry["layers"]);
      continue;
    }
    const std::int32_t kind = kind_index(model, entry["kind"].as<std::string>());
    model.layers.insert(model.layers.end(), entry["count"].as<std::size_t>(), kind);
  }
}

inline Model read_model(const std::string& path) {
  const YAML::Node y = YAML::LoadFile(path);
  Model model;
  model.name = y["model"].as<std::string>();
  model.source = y["source"].as<std::string>();
  model.assumed = get(y, "assumed", false);
  model.hidden_size = integer(y, "hidden_size");
  model.vocab_size = integer(y, "vocab_size");
  model.tie_embeddings = y["tie_embeddings"].as<bool>();
  for (const auto& kind : y["kinds"])
    model.kinds.push_back({kind.first.as<std::string>(),
                           kind.second["attention"] ? read_attention(kind.second["attention"]) : NoAttention{},
                           kind.second["ffn"] ? read_ffn(kind.second["ffn"]) : NoFfn{}});
  add_layers(model, y["layers"]);
  if (y["mtp"]) {
    model.mtp_num_layers = integer(y["mtp"], "num_layers");
    model.mtp_kind = kind_index(model, y["mtp"]["kind"].as<std::string>());
    model.mtp_use_repeated_layer = get(y["mtp"], "use_repeated_layer", false);
  }
  return model;
}

// models/NAME.yaml; tests run in the repository root.
inline Model public_model(const std::string& name) {
  return read_model("models/" + name + ".yaml");
}

} // namespace tessella::test
