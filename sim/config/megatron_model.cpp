#include "sim/config/megatron_model.h"

#include <algorithm>

#include "sim/config/dump.h"
#include "sim/config/load.h"

namespace tessella {
namespace {

constexpr std::int64_t kMaxLayers = 1 << 14;

// "3", or a Python list expression: ([0]*3+[1]*58). 1: the layer has experts.
std::vector<bool> moe_layers_of(const std::string& text, std::int64_t layers) {
  const auto fail = [&] {
    throw InputError("--moe-layer-freq",
                     fmt::format("{} is neither a number nor an expression like ([0]*3+[1]*58)", in_quotes(text)));
  };
  std::vector<bool> out;
  std::int64_t frequency = 0;
  if (const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), frequency);
      error == std::errc() && end == text.data() + text.size()) {
    if (frequency < 1) fail();
    for (std::int64_t i = 0; i < layers; ++i) out.push_back(i % frequency == 0);
    return out;
  }
  for (std::size_t at = 0; (at = text.find('[', at)) != std::string::npos;) {
    const std::size_t end = text.find(']', at);
    if (end == std::string::npos) fail();
    std::vector<bool> block;
    for (std::size_t i = at + 1; i < end; ++i) {
      if (text[i] == '0' || text[i] == '1')
        block.push_back(text[i] == '1');
      else if (text[i] != ',' && text[i] != ' ')
        fail();
    }
    std::int64_t times = 1;
    if (end + 1 < text.size() && text[end + 1] == '*')
      if (std::from_chars(text.data() + end + 2, text.data() + text.size(), times).ec != std::errc()) fail();
    if (block.empty() || times < 0 || times > kMaxLayers) fail();
    for (std::int64_t n = 0; n < times && static_cast<std::int64_t>(out.size()) <= kMaxLayers; ++n)
      out.insert(out.end(), block.begin(), block.end());
    at = end;
  }
  if (static_cast<std::int64_t>(out.size()) != layers)
    throw InputError("--moe-layer-freq",
                     fmt::format("{} describes {} layers, --num-layers says {}", in_quotes(text), out.size(), layers));
  return out;
}

Attention attention_of(const MegatronValues& f, std::int64_t hidden) {
  const std::int64_t heads = f.required("num-attention-heads");
  if (heads < 1) throw InputError("--num-attention-heads", "is 0");
  if (f.on("multi-latent-attention"))
    return MultiLatentAttention{heads,
                                f.count("q-lora-rank"),
                                f.count("kv-lora-rank").value_or(32),
                                f.count("qk-head-dim").value_or(128),
                                f.count("qk-pos-emb-head-dim").value_or(64),
                                f.count("v-head-dim").value_or(128)};
  GroupedQueryAttention a;
  a.heads = heads;
  a.kv_heads = f.on("group-query-attention") ? f.required("num-query-groups") : heads;
  const auto channels = f.count("kv-channels");
  if (!channels && hidden % heads != 0)
    throw InputError("--kv-channels",
                     fmt::format("is missing, and --hidden-size {} is not a multiple of {} heads", hidden, heads));
  a.head_dim = channels.value_or(hidden / heads);
  a.qk_norm = f.on("qk-layernorm");
  a.bias = f.on("add-qkv-bias");
  return a;
}

MoeFfn moe_of_flags(const MegatronValues& f, std::int64_t experts, std::int64_t ffn, bool gated) {
  MoeFfn moe;
  moe.num_experts = experts;
  moe.router_topk = f.count("moe-router-topk").value_or(2); // Megatron's default
  moe.moe_ffn_hidden_size = f.count("moe-ffn-hidden-size").value_or(ffn);
  moe.gated = gated;
  moe.router_bias = f.on("moe-router-enable-expert-bias");
  moe.shared_ffn_hidden_size = f.count("moe-shared-expert-intermediate-size").value_or(0);
  moe.shared_gate = moe.shared_ffn_hidden_size > 0 && f.on("moe-shared-expert-gate");
  moe.router_groups = f.count("moe-router-num-groups").value_or(1);
  moe.router_topk_groups = moe.router_groups > 1 ? f.count("moe-router-group-topk").value_or(1) : 1;
  return moe;
}

} // namespace

Model megatron_model(const MegatronValues& f, const std::string& name, std::vector<std::string>& warnings) {
  Model m;
  m.name = name;
  m.source = "imported from Megatron-LM flags";
  m.hidden_size = f.required("hidden-size");
  const std::int64_t layers = f.required("num-layers");
  if (layers < 1 || layers > kMaxLayers) throw InputError("--num-layers", fmt::format("is {}", layers));
  const auto vocabulary = f.count("padded-vocab-size") ? f.count("padded-vocab-size") : f.count("vocab-size");
  if (!vocabulary)
    throw InputError("--vocab-size",
                     "is missing (a tokenizer does not say it here); add --vocab-size N, or name a model with --model");
  m.vocab_size = *vocabulary;
  m.tie_embeddings = !f.on("untie-embeddings-and-output-weights");
  const bool gated = f.on("swiglu");
  const std::int64_t ffn = f.count("ffn-hidden-size").value_or(4 * m.hidden_size);
  const Attention attention = attention_of(f, m.hidden_size);
  const std::int64_t experts = f.count("num-experts").value_or(0);
  const std::vector<bool> moe = experts > 0 ? moe_layers_of(f.text("moe-layer-freq").value_or("1"), layers)
                                            : std::vector<bool>(static_cast<std::size_t>(layers), false);
  for (const bool with_experts : {false, true}) {
    if (std::find(moe.begin(), moe.end(), with_experts) == moe.end()) continue;
    m.kinds.push_back({with_experts ? "moe" : "dense", attention,
                       with_experts ? Ffn{moe_of_flags(f, experts, ffn, gated)} : Ffn{DenseFfn{ffn, gated}}});
  }
  for (const bool with_experts : moe) m.layers.push_back(with_experts && m.kinds.size() > 1 ? 1 : 0);
  m.mtp_num_layers = f.count("mtp-num-layers").value_or(0);
  m.mtp_kind = m.layers.back();
  if (!f.on("swiglu")) warnings.push_back("--swiglu is not given: FFNs have two matrices");
  return load_model_text("model of the flags", to_yaml(m)); // the limits of every model
}

} // namespace tessella
