#include "sim/config/import_hf.h"
#include "sim/config/file_role.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/sha256.h"
#include "sim/config/dump.h"
#include "sim/config/hf_config.h"
#include "sim/config/layer_pattern.h"
#include "sim/config/load.h"
#include "sim/config/message.h"

namespace tessella {
namespace {

constexpr std::int64_t kMaxLayers = 1 << 14;

// What the layers of a config are, one entry per decoder layer.
enum class LayerAttention { full, sliding, linear };

class Importer {
 public:
  Importer(const std::string& file_name, const std::string& text) : c_(file_name, text) {}

  ImportedModel import(const std::string& name) {
    refuse_unmodelled();
    const bool hybrid = c_.has("hybrid_override_pattern");
    Model& m = out_.model;
    m.name = name;
    m.hidden_size = c_.required("hidden size", {"hidden_size", "n_embd", "d_model"});
    m.vocab_size = c_.required("vocabulary size", {"vocab_size"});
    layers_ = c_.required("number of layers", {"num_hidden_layers", "n_layer", "num_layers"});
    if (layers_ < 1 || layers_ > kMaxLayers) c_.fail(fmt::format("has {} layers", layers_));
    m.tie_embeddings = c_.flag({"tie_word_embeddings"}, c_.is({"gpt2", "gemma", "gemma2", "gemma3_text"}));
    experts_ = c_.count_or(0, {"n_routed_experts", "num_local_experts", "moe_num_experts", "num_experts"});
    if (hybrid)
      import_pattern();
    else
      import_layers();
    import_mtp(hybrid);
    out_.warnings = c_.warnings;
    return out_;
  }

 private:
  void refuse_unmodelled() const {
    if (c_.is({"mamba", "jamba"}))
      c_.fail("has Mamba-1 layers, which no layer kind models (mamba2 is the one there is)");
    if (c_.is({"nemotron_h", "mamba2", "bamba", "zamba2", "falcon_h1", "granitemoehybrid"}) &&
        !c_.has("hybrid_override_pattern"))
      c_.fail("has Mamba-2 layers but no hybrid_override_pattern that says where");
    if (c_.has("attn_type_list") || c_.has("linear_attn_config"))
      c_.fail("has linear attention of a kind that no layer kind models (gated_delta_net is the one there is)");
    if (c_.has("block_configs")) c_.fail("has layers that differ in shape (block_configs)");
  }

  void import_layers() {
    const std::vector<LayerAttention> attentions = attention_of_layers();
    const std::vector<bool> moe = moe_of_layers();
    for (std::int64_t i = 0; i < layers_; ++i)
      add_layer(attentions[static_cast<std::size_t>(i)], moe[static_cast<std::size_t>(i)]);
  }

  // Nemotron-H: a letter per layer, each a mixer, an attention or an FFN alone.
  void import_pattern() {
    const std::string pattern = c_.text({"hybrid_override_pattern"});
    if (static_cast<std::int64_t>(pattern.size()) != layers_)
      c_.fail(fmt::format("hybrid_override_pattern has {} letters for {} layers", pattern.size(), layers_));
    std::string known;
    for (const char letter : pattern) {
      if (known.find(letter) == std::string::npos) {
        out_.model.kinds.push_back(kind_of_letter(letter));
        known += letter;
      }
      out_.model.layers.push_back(static_cast<std::int32_t>(known.find(letter)));
    }
  }

  LayerKind kind_of_letter(char letter) {
    switch (letter) {
    case 'M':
      return {"mamba", mamba2(), NoFfn{}};
    case '*':
      return {"attention", gqa(false), NoFfn{}};
    case '-':
      return {"mlp", NoAttention{}, dense()};
    case 'E':
      return {"moe", NoAttention{}, moe()};
    default:
      c_.fail(fmt::format("hybrid_override_pattern has the letter {}; it may have {}",
                          in_quotes(std::string(1, letter)), pattern_letters()));
    }
  }

  Mamba2 mamba2() {
    Mamba2 a;
    a.mamba_num_heads = c_.required("Mamba heads", {"mamba_num_heads", "mamba_n_heads"});
    a.mamba_head_dim = c_.required("Mamba head size", {"mamba_head_dim", "mamba_d_head"});
    a.ssm_state_size = c_.required("Mamba state size", {"ssm_state_size", "mamba_state_dim", "mamba_d_state"});
    a.n_groups = c_.count_or(1, {"n_groups", "mamba_num_groups", "mamba_n_groups"});
    a.conv_kernel = c_.count_or(4, {"conv_kernel", "mamba_d_conv"});
    a.chunk_size = c_.count_or(a.chunk_size, {"chunk_size", "mamba_chunk_size"});
    return a;
  }

  std::vector<LayerAttention> attention_of_layers() {
    std::vector<LayerAttention> out(static_cast<std::size_t>(layers_), LayerAttention::full);
    const std::vector<std::string> types = c_.texts("layer_types");
    if (!types.empty()) {
      if (types.size() < out.size())
        c_.fail(fmt::format("layer_types has {} entries for {} layers", types.size(), layers_));
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = attention_named(types[i]);
    } else if (c_.is({"qwen3_next"})) {
      const std::int64_t interval = std::max<std::int64_t>(1, c_.count_or(4, {"full_attention_interval"}));
      for (std::int64_t i = 0; i < layers_; ++i)
        if ((i + 1) % interval != 0) out[static_cast<std::size_t>(i)] = LayerAttention::linear;
    } else if (c_.is({"gpt_oss"})) { // every other layer, the first one slides
      for (std::size_t i = 0; i < out.size(); i += 2) out[i] = LayerAttention::sliding;
    } else if (c_.has("sliding_window") && c_.flag({"use_sliding_window"}, true) &&
               c_.is({"mistral", "mixtral", "phi3"})) {
      out.assign(out.size(), LayerAttention::sliding);
    }
    return out;
  }

  LayerAttention attention_named(const std::string& type) const {
    if (type == "full_attention" || type == "attention") return LayerAttention::full;
    if (type == "sliding_attention" || type == "chunked_attention") return LayerAttention::sliding;
    if (type == "linear_attention") return LayerAttention::linear;
    c_.fail(fmt::format("has layers of type '{}', which no layer kind models", type.substr(0, 40)));
  }

  std::vector<bool> moe_of_layers() {
    std::vector<bool> out(static_cast<std::size_t>(layers_), experts_ > 1);
    if (experts_ <= 1) return out;
    const std::int64_t first = c_.count_or(0, {"first_k_dense_replace", "moe_layer_start_index"});
    const std::vector<std::int64_t> list = c_.counts("moe_layer_freq");
    if (!list.empty() && list.size() < out.size())
      c_.fail(fmt::format("moe_layer_freq has {} entries for {} layers", list.size(), layers_));
    const std::int64_t frequency = list.empty() ? every(c_.count_or(1, {"moe_layer_freq"})) : 1;
    const std::int64_t sparse =
        every(c_.count_or(1, {"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"}));
    const std::vector<std::int64_t> dense = c_.counts("mlp_only_layers");
    const std::vector<std::int64_t> only = c_.counts("moe_layers");
    for (std::int64_t i = 0; i < layers_; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto in = [&](const std::vector<std::int64_t>& set) {
        return std::find(set.begin(), set.end(), i) != set.end();
      };
      out[at] = i >= first && i % frequency == 0 && (i + 1) % sparse == 0 && !in(dense) && (only.empty() || in(only)) &&
                (list.empty() || list[at] != 0);
    }
    return out;
  }

  std::int64_t every(std::int64_t n) const {
    if (n < 1) c_.fail("makes every 0th layer a mixture of experts");
    return n;
  }

  GroupedQueryAttention gqa(bool sliding) {
    GroupedQueryAttention a;
    a.heads = c_.required("attention heads", {"num_attention_heads", "n_head"});
    a.kv_heads = c_.count_or(a.heads, {"num_key_value_heads", "num_kv_heads", "multi_query_group_num"});
    if (a.heads < 1) c_.fail("has no attention heads");
    if (const auto dim = c_.count({"head_dim", "attention_head_dim"})) {
      a.head_dim = *dim;
    } else {
      if (out_.model.hidden_size % a.heads != 0)
        c_.fail(fmt::format("has no head_dim, and hidden_size {} is not a multiple of {} heads", out_.model.hidden_size,
                            a.heads));
      a.head_dim = out_.model.hidden_size / a.heads;
    }
    if (sliding) a.window = c_.required("sliding window", {"sliding_window", "attention_chunk_size"});
    a.output_gate = c_.flag({"attn_output_gate"}, c_.is({"qwen3_next"}));
    a.qk_norm = c_.flag({"use_qk_norm", "qk_layernorm", "qk_norm"},
                        c_.is({"qwen3", "qwen3_moe", "qwen3_next", "olmoe", "olmo2"}));
    const bool biased =
        c_.flag({"attention_bias", "qkv_bias", "use_qkv_bias"}, c_.is({"qwen2", "qwen2_moe", "gpt_oss"}));
    a.bias = biased;
    a.output_bias = biased && c_.is({"gpt_oss", "llama", "mistral"});
    a.sinks = c_.is({"gpt_oss"});
    return a;
  }

  Attention attention(LayerAttention kind) {
    if (kind == LayerAttention::linear)
      return GatedDeltaNet{c_.required("key heads of linear attention", {"linear_num_key_heads"}),
                           c_.required("value heads of linear attention", {"linear_num_value_heads"}),
                           c_.required("key head size of linear attention", {"linear_key_head_dim"}),
                           c_.required("value head size of linear attention", {"linear_value_head_dim"}),
                           c_.required("convolution of linear attention", {"linear_conv_kernel_dim"})};
    if (!c_.has("kv_lora_rank")) return gqa(kind == LayerAttention::sliding);
    MultiLatentAttention a;
    a.heads = c_.required("attention heads", {"num_attention_heads"});
    a.q_lora_rank = c_.count({"q_lora_rank"});
    if (a.q_lora_rank && *a.q_lora_rank == 0) a.q_lora_rank.reset();
    a.kv_lora_rank = c_.required("KV rank", {"kv_lora_rank"});
    a.qk_nope_head_dim = c_.required("head size without rotation", {"qk_nope_head_dim"});
    a.qk_rope_head_dim = c_.required("head size with rotation", {"qk_rope_head_dim"});
    a.v_head_dim = c_.required("value head size", {"v_head_dim"});
    return a;
  }

  bool gated() const {
    return !c_.is({"gpt2", "gpt_neox", "opt", "bloom", "nemotron"}) &&
           c_.text({"hidden_act", "mlp_hidden_act"}) != "relu2";
  }

  DenseFfn dense() {
    if (c_.is({"gpt2"}) && !c_.has("n_inner")) return {4 * out_.model.hidden_size, gated()};
    if (c_.is({"llama4_text"})) return {c_.required("dense FFN width", {"intermediate_size_mlp"}), gated()};
    return {c_.required("dense FFN width", {"intermediate_size", "ffn_hidden_size", "n_inner"}), gated()};
  }

  std::int64_t expert_width() {
    const auto own = c_.count({"moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size"});
    return own ? *own : c_.required("expert width", {"moe_intermediate_size", "intermediate_size"});
  }

  std::int64_t shared_width(std::int64_t width) {
    if (const auto whole = c_.count(
            {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size"}))
      return *whole;
    if (c_.is({"llama4_text"})) return width; // always one
    return width *
           c_.count_or(0, {"n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"});
  }

  MoeFfn moe() {
    MoeFfn f;
    f.num_experts = experts_;
    f.router_topk = c_.required("experts per token",
                                {"num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k", "top_k_experts"});
    f.moe_ffn_hidden_size = expert_width();
    f.gated = gated();
    f.expert_bias = c_.is({"gpt_oss"});
    f.router_bias = c_.is({"gpt_oss", "glm4_moe", "glm_moe_dsa", "nemotron_h"}) ||
                    c_.text({"topk_method"}) == "noaux_tc" ||
                    c_.flag({"use_routing_bias", "moe_router_enable_expert_bias"}, false);
    f.shared_ffn_hidden_size = shared_width(f.moe_ffn_hidden_size);
    f.shared_gate = f.shared_ffn_hidden_size > 0 && c_.is({"qwen2_moe", "qwen3_next"});
    f.router_groups = std::max<std::int64_t>(1, c_.count_or(1, {"n_group"}));
    f.router_topk_groups = f.router_groups > 1 ? std::max<std::int64_t>(1, c_.count_or(1, {"topk_group"})) : 1;
    f.moe_latent_size = c_.count_or(0, {"moe_latent_size"});
    return f;
  }

  void add_layer(LayerAttention attention_kind, bool is_moe) {
    const auto key = std::pair(attention_kind, is_moe);
    auto at = std::find(known_.begin(), known_.end(), key);
    if (at == known_.end()) {
      const Attention a = attention(attention_kind);
      const std::string prefix = attention_kind == LayerAttention::linear    ? "gdn_"
                                 : attention_kind == LayerAttention::sliding ? "window_"
                                                                             : "";
      Ffn f = is_moe ? Ffn{moe()} : Ffn{dense()};
      out_.model.kinds.push_back({prefix + (is_moe ? "moe" : "dense"), a, std::move(f)});
      at = known_.insert(known_.end(), key);
    }
    out_.model.layers.push_back(static_cast<std::int32_t>(at - known_.begin()));
  }

  // The MTP block of a hybrid model is the layers of its own pattern, in one.
  std::int32_t hybrid_mtp_kind() {
    std::string pattern = c_.text({"mtp_hybrid_override_pattern"});
    if (pattern.empty()) {
      pattern = "*E";
      c_.warnings.push_back(
          "no mtp_hybrid_override_pattern: the MTP block is taken as an attention and experts, \"*E\"");
    }
    if (pattern != "*E" && pattern != "*-")
      c_.fail(
          fmt::format("mtp_hybrid_override_pattern is {}; only an attention and an FFN are modelled, \"*E\" or \"*-\"",
                      in_quotes(pattern)));
    const bool experts = pattern == "*E";
    out_.model.kinds.push_back({"mtp", gqa(false), experts ? Ffn{moe()} : Ffn{dense()}});
    return static_cast<std::int32_t>(out_.model.kinds.size() - 1);
  }

  void import_mtp(bool hybrid) {
    Model& m = out_.model;
    m.mtp_num_layers =
        c_.flag({"use_mtp"}, true)
            ? c_.count_or(0, {"num_nextn_predict_layers", "num_mtp_modules", "mtp_num_layers", "num_mtp_layers"})
            : 0;
    if (m.mtp_num_layers == 0) return;
    m.mtp_kind = hybrid ? hybrid_mtp_kind() : m.layers.back();
    m.mtp_use_repeated_layer = c_.flag({"mtp_use_repeated_layer"}, false);
  }

  HfConfig c_;
  ImportedModel out_;
  std::int64_t layers_ = 0;
  std::int64_t experts_ = 0;
  std::vector<std::pair<LayerAttention, bool>> known_; // parallel to the kinds
};

} // namespace

ImportedModel import_hf(const std::string& file_name, const std::string& text, const std::string& name) {
  require_role(file_name, text, FileRole::hf_config);
  ImportedModel out = Importer(file_name, text).import(name);
  // Aliases are looked at once per layer kind: the same warning may come twice.
  std::vector<std::string> once;
  for (std::string& w : out.warnings)
    if (std::find(once.begin(), once.end(), w) == once.end()) once.push_back(std::move(w));
  out.warnings = std::move(once);
  out.model.source = fmt::format("imported from {} (sha256 {})", file_name, sha256_hex(text).substr(0, 12));
  out.model = load_model_text(file_name + " (as a model)", to_yaml(out.model)); // the limits of every model
  return out;
}

} // namespace tessella
