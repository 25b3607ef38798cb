// models/NAME.yaml -> Model.
#include <fmt/format.h>

#include <algorithm>

#include "sim/config/document.h"
#include "sim/config/file_role.h"
#include "sim/config/input_limits.h"
#include "sim/config/layer_pattern.h"
#include "sim/config/load.h"

namespace tessella {
namespace {

void require_multiple(MapReader& map, std::string_view key, std::int64_t value, std::string_view of_key,
                      std::int64_t of) {
  if (value > 0 && of > 0 && value % of != 0)
    map.problem(key, fmt::format("{} is {}, not a multiple of {} {}", key, value, of_key, of));
}

Attention read_gqa(MapReader& map) {
  GroupedQueryAttention a;
  map.required("heads", a.heads, Count("heads"));
  map.required("kv_heads", a.kv_heads, Count("kv_heads"));
  map.required("head_dim", a.head_dim, Count("head_dim"));
  map.optional("window", a.window, Count("window"));
  map.optional("output_gate", a.output_gate, read_bool);
  map.optional("qk_norm", a.qk_norm, read_bool);
  map.optional("bias", a.bias, read_bool);
  map.optional("output_bias", a.output_bias, read_bool);
  map.optional("sinks", a.sinks, read_bool);
  require_multiple(map, "heads", a.heads, "kv_heads", a.kv_heads);
  return a;
}

Attention read_mla(MapReader& map) {
  MultiLatentAttention a;
  map.required("heads", a.heads, Count("heads"));
  map.optional("q_lora_rank", a.q_lora_rank, Count("q_lora_rank"));
  map.required("kv_lora_rank", a.kv_lora_rank, Count("kv_lora_rank"));
  map.required("qk_nope_head_dim", a.qk_nope_head_dim, Count("qk_nope_head_dim"));
  map.required("qk_rope_head_dim", a.qk_rope_head_dim, Count("qk_rope_head_dim"));
  map.required("v_head_dim", a.v_head_dim, Count("v_head_dim"));
  return a;
}

Attention read_gdn(MapReader& map) {
  GatedDeltaNet a;
  map.required("key_heads", a.key_heads, Count("key_heads"));
  map.required("value_heads", a.value_heads, Count("value_heads"));
  map.required("key_head_dim", a.key_head_dim, Count("key_head_dim"));
  map.required("value_head_dim", a.value_head_dim, Count("value_head_dim"));
  map.required("conv_kernel", a.conv_kernel, Count("conv_kernel"));
  require_multiple(map, "value_heads", a.value_heads, "key_heads", a.key_heads);
  return a;
}

Attention read_mamba2(MapReader& map) {
  Mamba2 a;
  map.required("mamba_num_heads", a.mamba_num_heads, Count("mamba_num_heads"));
  map.required("mamba_head_dim", a.mamba_head_dim, Count("mamba_head_dim"));
  map.required("ssm_state_size", a.ssm_state_size, Count("ssm_state_size"));
  map.optional("n_groups", a.n_groups, Count("n_groups"));
  map.required("conv_kernel", a.conv_kernel, Count("conv_kernel"));
  map.optional("chunk_size", a.chunk_size, Count("chunk_size"));
  require_multiple(map, "mamba_num_heads", a.mamba_num_heads, "n_groups", a.n_groups);
  return a;
}

constexpr Choice<Attention (*)(MapReader&)> kAttentions[] = {
    {"gqa", read_gqa}, {"mla", read_mla}, {"gated_delta_net", read_gdn}, {"mamba2", read_mamba2}};

Ffn read_dense(MapReader& map) {
  DenseFfn f;
  map.required("ffn_hidden_size", f.ffn_hidden_size, Count("ffn_hidden_size"));
  map.optional("gated", f.gated, read_bool);
  return f;
}

Ffn read_moe(MapReader& map) {
  MoeFfn f;
  map.required("num_experts", f.num_experts, Count("num_experts"));
  map.required("router_topk", f.router_topk, Count("router_topk"));
  map.required("moe_ffn_hidden_size", f.moe_ffn_hidden_size, Count("moe_ffn_hidden_size"));
  map.optional("gated", f.gated, read_bool);
  map.optional("expert_bias", f.expert_bias, read_bool);
  map.optional("router_bias", f.router_bias, read_bool);
  map.optional("shared_ffn_hidden_size", f.shared_ffn_hidden_size, Count("shared_ffn_hidden_size", 0));
  map.optional("shared_gate", f.shared_gate, read_bool);
  map.optional("router_groups", f.router_groups, Count("router_groups"));
  map.optional("router_topk_groups", f.router_topk_groups, Count("router_topk_groups"));
  map.optional("moe_latent_size", f.moe_latent_size, Count("moe_latent_size"));
  require_multiple(map, "num_experts", f.num_experts, "router_groups", f.router_groups);
  if (f.router_topk_groups > f.router_groups)
    map.problem("router_topk_groups", fmt::format("router_topk_groups is {}, more than the {} router_groups",
                                                  f.router_topk_groups, f.router_groups));
  const std::int64_t reachable = f.num_experts / f.router_groups * f.router_topk_groups;
  if (f.num_experts > 0 && f.router_topk > reachable)
    map.problem("router_topk",
                fmt::format("router_topk is {}, more than the {} experts a token may use", f.router_topk, reachable));
  if (f.shared_gate && f.shared_ffn_hidden_size == 0)
    map.problem("shared_gate", "shared_gate without shared experts; shared_ffn_hidden_size is 0");
  return f;
}

constexpr Choice<Ffn (*)(MapReader&)> kFfns[] = {{"moe", read_moe}, {"dense", read_dense}};

// A map whose other keys depend on its `type`.
template <class T>
T read_typed(const Node& node, Problems& problems, std::string_view what,
             std::span<const Choice<T (*)(MapReader&)>> table) {
  MapReader map(node, problems, what);
  const Node* type = map.find("type");
  if (!type) throw InputError(node.where(), fmt::format("missing key 'type' in {}", what));
  T value = read_choice(*type, fmt::format("type of {}", what), table)(map);
  map.done();
  return value;
}

// A layer has an attention (or mixer), an FFN, or both.
void read_halves(MapReader& map, Problems& problems, LayerKind& kind) {
  kind.attention = NoAttention{};
  kind.ffn = NoFfn{};
  const auto attention = [&](const Node& n) { return read_typed<Attention>(n, problems, "attention", kAttentions); };
  const auto ffn = [&](const Node& n) { return read_typed<Ffn>(n, problems, "ffn", kFfns); };
  map.optional("attention", kind.attention, attention);
  map.optional("ffn", kind.ffn, ffn);
  if (map.find("attention") == nullptr && map.find("ffn") == nullptr)
    map.problem("attention", "a layer kind has an attention, an ffn, or both; this one has neither");
}

std::vector<LayerKind> read_kinds(const Node& node, Problems& problems) {
  if (node.kind != NodeKind::map || node.entries.empty())
    throw InputError(node.where(), fmt::format("kinds must be a map of layer kinds, found {}",
                                               node.entries.empty() ? "nothing in it" : describe(node)));
  if (node.entries.size() > static_cast<std::size_t>(limit("kinds")))
    throw InputError(node.where(), fmt::format("{} kinds, above the limit of {}", node.entries.size(), limit("kinds")));
  std::vector<LayerKind> kinds;
  for (const Entry& e : node.entries) {
    if (problems.full()) break;
    LayerKind kind;
    kind.name = e.key.text;
    try {
      kind.name = read_name(e.key);
      MapReader map(e.value, problems, "a layer kind");
      read_halves(map, problems, kind);
      map.done();
    } catch (const InputError& error) {
      problems.add(error);
    }
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

// An index into kinds. Where the kinds could not be read, their own error is enough.
std::int32_t read_kind(const Node& node, const std::vector<LayerKind>& kinds) {
  if (kinds.empty()) return 0;
  std::vector<std::string> names;
  for (const LayerKind& kind : kinds) names.push_back(kind.name);
  return static_cast<std::int32_t>(read_word(node, "layer kind", names));
}

// Adds `times` copies of what stands from `begin` on, minus the one that is there already.
void repeat_tail(std::vector<std::int32_t>& layers, std::size_t begin, std::int64_t times, const Node& node) {
  const auto added = static_cast<std::int64_t>(layers.size() - begin);
  if (static_cast<std::int64_t>(begin) + added * times > limit("layers"))
    throw InputError(node.where(), fmt::format("more layers than the limit of {}", limit("layers")));
  const std::vector<std::int32_t> block(layers.begin() + static_cast<std::ptrdiff_t>(begin), layers.end());
  for (std::int64_t i = 1; i < times; ++i) layers.insert(layers.end(), block.begin(), block.end());
}

void read_layers(const Node& node, const std::vector<LayerKind>& kinds, Problems& problems,
                 std::vector<std::int32_t>& layers) {
  if (node.kind == NodeKind::scalar) {
    const std::vector<std::int32_t> letters = layers_of_pattern(node, kinds);
    layers.insert(layers.end(), letters.begin(), letters.end());
    return;
  }
  require_list(node);
  if (node.items.empty()) throw InputError(node.where(), "the list of layers is empty");
  for (const Node& item : node.items) {
    MapReader map(item, problems, "layers");
    const std::size_t begin = layers.size();
    std::int64_t times = 1;
    if (const Node* block = map.find("layers")) {
      map.required("repeat", times, Count("repeat"));
      map.refuse("kind", "a block of layers has its kinds inside");
      map.refuse("count", "a block of layers is repeated by 'repeat'");
      read_layers(*block, kinds, problems, layers);
    } else {
      std::int32_t kind = 0;
      map.required("kind", kind, [&](const Node& n) { return read_kind(n, kinds); });
      map.optional("count", times, Count("count"));
      map.refuse("repeat", "it needs 'layers', the block to repeat; one kind has a 'count'");
      layers.push_back(kind);
    }
    map.done();
    repeat_tail(layers, begin, times, item);
  }
}

struct Mtp {
  std::int64_t num_layers = 0;
  std::int32_t kind = 0;
  bool repeated = false;
};

Mtp read_mtp(const Node& node, const std::vector<LayerKind>& kinds, Problems& problems) {
  Mtp mtp;
  MapReader map(node, problems, "mtp");
  map.required("num_layers", mtp.num_layers, Count("num_layers"));
  map.required("kind", mtp.kind, [&](const Node& n) { return read_kind(n, kinds); });
  map.optional("use_repeated_layer", mtp.repeated, read_bool);
  map.done();
  return mtp;
}

// Elements of the matrices of a layer, roughly; only to refuse what no later sum could hold.
double size_estimate(const LayerKind& kind, double hidden) {
  struct Width {
    double operator()(const GroupedQueryAttention& a) const {
      return 2.0 * static_cast<double>(a.heads + a.kv_heads) * static_cast<double>(a.head_dim);
    }
    double operator()(const MultiLatentAttention& a) const {
      return 3.0 * static_cast<double>(a.heads) *
             static_cast<double>(a.qk_nope_head_dim + a.qk_rope_head_dim + a.v_head_dim);
    }
    double operator()(const GatedDeltaNet& a) const {
      return 3.0 * static_cast<double>(a.key_heads * a.key_head_dim + a.value_heads * a.value_head_dim);
    }
    double operator()(const Mamba2& a) const {
      return 3.0 * static_cast<double>(a.inner_size()) +
             2.0 * static_cast<double>(a.n_groups) * static_cast<double>(a.ssm_state_size);
    }
    double operator()(const NoAttention&) const { return 0.0; }
    double operator()(const NoFfn&) const { return 0.0; }
    double operator()(const DenseFfn& f) const { return 3.0 * static_cast<double>(f.ffn_hidden_size); }
    double operator()(const MoeFfn& f) const {
      return 3.0 * (static_cast<double>(f.num_experts) * static_cast<double>(f.moe_ffn_hidden_size) +
                    static_cast<double>(f.shared_ffn_hidden_size));
    }
  };
  return hidden * (std::visit(Width{}, kind.attention) + std::visit(Width{}, kind.ffn));
}

void check_size(const Model& model, const Node& root, Problems& problems) {
  double size = 0.0;
  for (std::int64_t i = 0; i < model.num_layers(); ++i)
    size += size_estimate(model.layer(i), static_cast<double>(model.hidden_size));
  if (size > static_cast<double>(limit("parameters")))
    problems.add(InputError(root.where(), fmt::format("the model has about {:.3g} parameters, above the limit of {}",
                                                      size, limit("parameters"))));
}

Model read_model(const Node& root, Problems& problems) {
  Model m;
  MapReader map(root, problems, "the model");
  map.required("model", m.name, read_name);
  map.required("source", m.source, read_text);
  map.optional("assumed", m.assumed, read_bool);
  map.required("hidden_size", m.hidden_size, Count("hidden_size"));
  map.required("vocab_size", m.vocab_size, Count("vocab_size"));
  map.optional("tie_embeddings", m.tie_embeddings, read_bool);
  map.required("kinds", m.kinds, [&](const Node& n) { return read_kinds(n, problems); });
  map.required("layers", m.layers, [&](const Node& n) {
    std::vector<std::int32_t> layers;
    read_layers(n, m.kinds, problems, layers);
    return layers;
  });
  Mtp mtp;
  map.optional("mtp", mtp, [&](const Node& n) { return read_mtp(n, m.kinds, problems); });
  m.mtp_num_layers = mtp.num_layers;
  m.mtp_kind = mtp.kind;
  m.mtp_use_repeated_layer = mtp.repeated;
  map.done();
  if (problems.empty()) check_size(m, root, problems);
  return m;
}

} // namespace

Model load_model(const std::filesystem::path& file) {
  return load_model_text(display_path(file), read_file(file));
}

Model load_model_text(const std::string& file_name, const std::string& text, Overrides overrides) {
  require_role(file_name, text, FileRole::model);
  return read_document<Model>(file_name, text, read_model, "model", overrides);
}

} // namespace tessella
