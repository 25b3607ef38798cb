#include "sim/config/dump.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/flow_map.h"
#include "sim/config/quantity.h"
#include "sim/config/words.h"
#include "sim/domain/kernel_forms.h"

namespace tessella {
namespace {

std::string to_flow(const GroupedQueryAttention& a) {
  FlowMap map;
  map.raw("type", "gqa").count("heads", a.heads).count("kv_heads", a.kv_heads).count("head_dim", a.head_dim);
  if (a.window) map.count("window", *a.window);
  const GroupedQueryAttention d;
  return map.flag_unless("output_gate", a.output_gate, d.output_gate)
      .flag_unless("qk_norm", a.qk_norm, d.qk_norm)
      .flag_unless("bias", a.bias, d.bias)
      .flag_unless("output_bias", a.output_bias, d.output_bias)
      .flag_unless("sinks", a.sinks, d.sinks)
      .text();
}

std::string to_flow(const MultiLatentAttention& a) {
  FlowMap map;
  map.raw("type", "mla").count("heads", a.heads);
  if (a.q_lora_rank) map.count("q_lora_rank", *a.q_lora_rank);
  return map.count("kv_lora_rank", a.kv_lora_rank)
      .count("qk_nope_head_dim", a.qk_nope_head_dim)
      .count("qk_rope_head_dim", a.qk_rope_head_dim)
      .count("v_head_dim", a.v_head_dim)
      .text();
}

std::string to_flow(const GatedDeltaNet& a) {
  return FlowMap()
      .raw("type", "gated_delta_net")
      .count("key_heads", a.key_heads)
      .count("value_heads", a.value_heads)
      .count("key_head_dim", a.key_head_dim)
      .count("value_head_dim", a.value_head_dim)
      .count("conv_kernel", a.conv_kernel)
      .text();
}

std::string to_flow(const Mamba2& a) {
  return FlowMap()
      .raw("type", "mamba2")
      .count("mamba_num_heads", a.mamba_num_heads)
      .count("mamba_head_dim", a.mamba_head_dim)
      .count("ssm_state_size", a.ssm_state_size)
      .count("n_groups", a.n_groups)
      .count("conv_kernel", a.conv_kernel)
      .count("chunk_size", a.chunk_size)
      .text();
}

// Halves that a layer does not have are not written.
std::string to_flow(const NoAttention&) {
  return "";
}

std::string to_flow(const NoFfn&) {
  return "";
}

std::string to_flow(const DenseFfn& f) {
  return FlowMap()
      .raw("type", "dense")
      .count("ffn_hidden_size", f.ffn_hidden_size)
      .flag_unless("gated", f.gated, DenseFfn().gated)
      .text();
}

std::string to_flow(const MoeFfn& f) {
  const MoeFfn d;
  return FlowMap()
      .raw("type", "moe")
      .count("num_experts", f.num_experts)
      .count("router_topk", f.router_topk)
      .count("moe_ffn_hidden_size", f.moe_ffn_hidden_size)
      .flag_unless("gated", f.gated, d.gated)
      .flag_unless("expert_bias", f.expert_bias, d.expert_bias)
      .flag_unless("router_bias", f.router_bias, d.router_bias)
      .count_unless("shared_ffn_hidden_size", f.shared_ffn_hidden_size, d.shared_ffn_hidden_size)
      .flag_unless("shared_gate", f.shared_gate, d.shared_gate)
      .count_unless("router_groups", f.router_groups, d.router_groups)
      .count_unless("router_topk_groups", f.router_topk_groups, d.router_topk_groups)
      .count_unless("moe_latent_size", f.moe_latent_size, d.moe_latent_size)
      .text();
}

std::string to_flow(const Link& link) {
  return FlowMap()
      .raw("bandwidth", quantity_text(link.bandwidth.bytes_per_second, Dimension::bandwidth))
      .raw("latency", duration_text(link.latency))
      .quote("source", link.source)
      .text();
}

// One entry of the `layers` list: a run of one kind, or a block of runs that repeats.
struct Run {
  std::int32_t kind;
  std::int64_t count;
  bool operator==(const Run&) const = default;
};

std::vector<Run> runs_of(const std::vector<std::int32_t>& layers) {
  std::vector<Run> runs;
  for (const std::int32_t kind : layers) {
    if (runs.empty() || runs.back().kind != kind) runs.push_back({kind, 0});
    ++runs.back().count;
  }
  return runs;
}

// How often the `length` runs from `begin` on stand there in a row.
std::size_t repeats(const std::vector<Run>& runs, std::size_t begin, std::size_t length) {
  std::size_t n = 1;
  while (begin + (n + 1) * length <= runs.size() &&
         std::equal(runs.begin() + static_cast<std::ptrdiff_t>(begin),
                    runs.begin() + static_cast<std::ptrdiff_t>(begin + length),
                    runs.begin() + static_cast<std::ptrdiff_t>(begin + n * length)))
    ++n;
  return n;
}

// The shortest block (at most 8 runs) that covers the most runs from `begin` on; 0 when nothing repeats.
std::size_t block_at(const std::vector<Run>& runs, std::size_t begin) {
  std::size_t best = 0;
  std::size_t covered = 0;
  for (std::size_t length = 2; length <= 8; ++length) {
    const std::size_t n = repeats(runs, begin, length);
    if (n > 1 && n * length > covered) {
      covered = n * length;
      best = length;
    }
  }
  return best;
}

std::string layers_text(const Model& model) {
  const std::vector<Run> runs = runs_of(model.layers);
  const auto run_text = [&](const Run& run) {
    return FlowMap().raw("kind", model.kinds[static_cast<std::size_t>(run.kind)].name).count("count", run.count).text();
  };
  std::string text;
  for (std::size_t i = 0; i < runs.size();) {
    const std::size_t length = block_at(runs, i);
    if (length == 0) {
      text += fmt::format("  - {}\n", run_text(runs[i++]));
      continue;
    }
    std::string block;
    for (std::size_t j = i; j < i + length; ++j) block += (j > i ? ", " : "") + run_text(runs[j]);
    const std::size_t n = repeats(runs, i, length);
    text += fmt::format("  - {{repeat: {}, layers: [{}]}}\n", n, block);
    i += n * length;
  }
  return text;
}

std::string kind_text(const LayerKind& kind) {
  const auto flow = [](const auto& part) { return to_flow(part); };
  const std::string attention = std::visit(flow, kind.attention);
  const std::string ffn = std::visit(flow, kind.ffn);
  std::string text = fmt::format("  {}:\n", kind.name);
  if (!attention.empty()) text += fmt::format("    attention: {}\n", attention);
  if (!ffn.empty()) text += fmt::format("    ffn: {}\n", ffn);
  return text;
}

std::string node_text(const NodeSpec& node) {
  std::string text = fmt::format("node:\n  gpus: {}\n", node.gpus);
  if (node.scale_up != Link{}) text += fmt::format("  scale_up: {}\n", to_flow(node.scale_up));
  if (node.nics > 0) text += fmt::format("  nics: {}\n  nic: {}\n", node.nics, to_flow(node.nic));
  return text;
}

std::string fabric_text(const FabricSpec& f) {
  std::string text =
      fmt::format("fabric:\n  kind: {}\n  source: {}\n", word(kFabricKinds, f.kind), quote_yaml(f.source));
  if (f.kind == FabricKind::ideal || f.kind == FabricKind::single_node) return text;
  text += fmt::format("  planes: {}\n", f.planes);
  if (f.kind == FabricKind::dragonfly) {
    text += fmt::format("  switches_per_group: {}\n  nodes_per_group: {}\n  links_per_group_pair: {}\n",
                        f.switches_per_group, f.nodes_per_group, f.links_per_group_pair);
    text += fmt::format("  local_link: {}\n  global_link: {}\n", to_flow(f.local_link), to_flow(f.global_link));
  } else {
    text += fmt::format("  nodes_per_leaf: {}\n", f.nodes_per_leaf);
    if (f.leaf_to_spine != Link{}) text += fmt::format("  leaf_to_spine: {}\n", to_flow(f.leaf_to_spine));
    text += fmt::format("  oversubscription: {}\n", quantity_text(f.oversubscription, Dimension::plain));
  }
  return text + fmt::format("  switch_latency: {}\n", duration_text(f.switch_latency));
}

// Parameters of a form that is not in the table would have no dimension: such an entry cannot have been loaded.
std::string params_text(const ProfileEntry& e) {
  FlowMap map;
  for (const FormSpec& form : form_table())
    if (form.name == e.form)
      for (const FormParam& p : form.params)
        if (const auto value = e.param(p.name)) map.raw(p.name, quantity_text(*value, p.dimension));
  return map.text();
}

std::string entry_text(const ProfileEntry& e) {
  std::string text = fmt::format("  - op: {}\n", e.op);
  if (!e.dtype.empty()) text += fmt::format("    dtype: {}\n", e.dtype);
  if (!e.tier.empty()) text += fmt::format("    tier: {}\n", e.tier);
  text += fmt::format("    form: {}\n    params: {}\n    provenance: {}\n    source: {}\n", e.form, params_text(e),
                      word(kProvenances, e.provenance), quote_yaml(e.source));
  if (e.residual)
    text += fmt::format("    residual: {}\n", FlowMap()
                                                  .raw("median", quantity_text(e.residual->median, Dimension::plain))
                                                  .raw("p95", quantity_text(e.residual->p95, Dimension::plain))
                                                  .count("rows", e.residual->rows)
                                                  .text());
  return text;
}

} // namespace

std::string to_yaml(const Model& m) {
  std::string text = fmt::format("model: {}\nsource: {}\n", m.name, quote_yaml(m.source));
  if (m.assumed) text += "assumed: true\n";
  text += fmt::format("hidden_size: {}\nvocab_size: {}\ntie_embeddings: {}\nkinds:\n", m.hidden_size, m.vocab_size,
                      m.tie_embeddings);
  for (const LayerKind& kind : m.kinds) text += kind_text(kind);
  text += "layers:\n" + layers_text(m);
  if (m.mtp_num_layers > 0)
    text += fmt::format("mtp: {}\n", FlowMap()
                                         .count("num_layers", m.mtp_num_layers)
                                         .raw("kind", m.mtp_layer().name)
                                         .flag_unless("use_repeated_layer", m.mtp_use_repeated_layer, false)
                                         .text());
  return text;
}

std::string to_yaml(const Cluster& c) {
  return fmt::format("topology: {}\nsource: {}\ngpu: {}\nnodes: {}\n", c.name, quote_yaml(c.source), c.gpu, c.nodes) +
         node_text(c.node) + fabric_text(c.fabric);
}

std::string to_yaml(const Profile& p) {
  FlowMap gpu;
  gpu.raw("name", p.gpu.name).count("sms", p.gpu.sms);
  gpu.raw("bf16_peak", quantity_text(p.gpu.bf16_peak.flops_per_second, Dimension::flop_rate));
  if (p.gpu.fp8_peak.flops_per_second > 0.0)
    gpu.raw("fp8_peak", quantity_text(p.gpu.fp8_peak.flops_per_second, Dimension::flop_rate));
  gpu.raw("hbm", quantity_text(p.gpu.hbm.bytes_per_second, Dimension::bandwidth));
  gpu.raw("memory", bytes_text(p.gpu.memory)).quote("source", p.gpu.source);
  std::string text = fmt::format("profile: {}\ngpu: {}\nentries:\n", p.name, gpu.text());
  for (const ProfileEntry& e : p.entries) text += entry_text(e);
  return text;
}

} // namespace tessella
