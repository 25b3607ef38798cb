// The model as a list of layer kinds. Dimensions are counts of elements; all sizes are 64-bit.
// Field names follow Megatron-LM's arguments where it has one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tessella {

// Softmax attention with grouped keys and values; kv_heads == heads is plain multi-head attention.
struct GroupedQueryAttention {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::optional<std::int64_t> window; // sliding window in tokens; nothing = all earlier tokens
  bool output_gate = false;           // q projection is doubled (Qwen3-Next)
  bool qk_norm = false;
  bool bias = false; // bias on q, k, v (and o when output_bias)
  bool output_bias = false;
  bool sinks = false; // one learned logit per head (gpt-oss)
  bool operator==(const GroupedQueryAttention&) const = default;
};

// Multi-head latent attention (DeepSeek-V2, section 2.1).
struct MultiLatentAttention {
  std::int64_t heads = 0;
  std::optional<std::int64_t> q_lora_rank; // nothing: q comes straight from the hidden state
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
  bool operator==(const MultiLatentAttention&) const = default;
};

// Linear attention with a gated delta rule (Qwen3-Next).
struct GatedDeltaNet {
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t key_head_dim = 0;
  std::int64_t value_head_dim = 0;
  std::int64_t conv_kernel = 0;
  bool operator==(const GatedDeltaNet&) const = default;
};

// Selective state space of Mamba-2 (arXiv 2405.21060), computed chunk by chunk (SSD). Names follow the public
// configurations; the inner width is mamba_num_heads * mamba_head_dim.
struct Mamba2 {
  std::int64_t mamba_num_heads = 0;
  std::int64_t mamba_head_dim = 0;
  std::int64_t ssm_state_size = 0;
  std::int64_t n_groups = 1; // heads of one group share B and C
  std::int64_t conv_kernel = 0;
  std::int64_t chunk_size = 128; // tokens that the kernels treat as one block
  bool operator==(const Mamba2&) const = default;

  std::int64_t inner_size() const { return mamba_num_heads * mamba_head_dim; }
  // Channels of the short convolution: the input of the state space with its B and C.
  std::int64_t conv_size() const { return inner_size() + 2 * n_groups * ssm_state_size; }
  // Outputs of the input projection: those, the gate, and one step size per head.
  std::int64_t in_proj_size() const { return conv_size() + inner_size() + mamba_num_heads; }
};

// The layer is an FFN alone (Nemotron-H writes its layers one by one: mixer, attention or FFN).
struct NoAttention {
  bool operator==(const NoAttention&) const = default;
};

using Attention = std::variant<GroupedQueryAttention, MultiLatentAttention, GatedDeltaNet, Mamba2, NoAttention>;

struct DenseFfn {
  std::int64_t ffn_hidden_size = 0;
  bool gated = true; // SwiGLU: three matrices; otherwise two
  bool operator==(const DenseFfn&) const = default;
};

struct MoeFfn {
  std::int64_t num_experts = 0;
  std::int64_t router_topk = 0;
  std::int64_t moe_ffn_hidden_size = 0;
  bool gated = true;
  bool expert_bias = false;                // gpt-oss
  bool router_bias = false;                // one value per expert
  std::int64_t shared_ffn_hidden_size = 0; // total width of all shared experts; 0 = none
  bool shared_gate = false;
  std::int64_t router_groups = 1;      // group-limited routing: groups ...
  std::int64_t router_topk_groups = 1; // ... and how many of them a token may use
  // Routed experts work on a projection of the hidden state of this width, and so does their exchange (Nemotron-3
  // Super); 0 = on the hidden state. Router and shared experts are not touched.
  std::int64_t moe_latent_size = 0;
  bool operator==(const MoeFfn&) const = default;
};

// The layer is a mixer or an attention alone.
struct NoFfn {
  bool operator==(const NoFfn&) const = default;
};

using Ffn = std::variant<DenseFfn, MoeFfn, NoFfn>;

struct LayerKind {
  std::string name;
  Attention attention;
  Ffn ffn;
  bool operator==(const LayerKind&) const = default;
};

struct Model {
  std::string name;
  std::int64_t hidden_size = 0;
  std::int64_t vocab_size = 0;
  bool tie_embeddings = false;
  std::vector<LayerKind> kinds;
  std::vector<std::int32_t> layers;    // per decoder layer, an index into kinds
  std::int64_t mtp_num_layers = 0;     // multi-token prediction; each is one more layer of mtp_kind + eh_proj
  std::int32_t mtp_kind = 0;           // index into kinds
  bool mtp_use_repeated_layer = false; // all MTP layers share one set of weights
  bool assumed = false;                // dimensions are our own guess, see `source`
  std::string source;
  bool operator==(const Model&) const = default;

  std::int64_t num_layers() const { return static_cast<std::int64_t>(layers.size()); }
  const LayerKind& layer(std::int64_t i) const {
    return kinds[static_cast<std::size_t>(layers[static_cast<std::size_t>(i)])];
  }
  const LayerKind& mtp_layer() const { return kinds[static_cast<std::size_t>(mtp_kind)]; }
  bool has_moe() const;
};

const MoeFfn* moe_of(const LayerKind& kind); // nullptr when there are no experts

// Elements of a token as routed experts see it.
std::int64_t expert_input_size(std::int64_t hidden_size, const MoeFfn& moe);

} // namespace tessella
