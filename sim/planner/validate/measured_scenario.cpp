#include "sim/planner/validate/measured_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <set>

#include "sim/base/error.h"
#include "sim/cost/flops.h"
#include "sim/domain/layout.h"
#include "sim/domain/legality.h"
#include "sim/planner/simulate.h"
#include "sim/planner/validate/measured_cluster.h"
#include "sim/schedule/table.h"

namespace tessella {
namespace {

// What CUDA graphs of attention, router and preprocessing leave of the host's time.
constexpr double kGraphShare = 0.5;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool has(const std::string& text, const char* part) {
  return lower(text).find(part) != std::string::npos;
}

bool empty_choice(const std::string& text) {
  return text.empty() || has(text, "not stated") || has(text, "default");
}

using M = RecomputeModule;

Recompute selective(std::initializer_list<RecomputeModule> modules) {
  return {RecomputeGranularity::selective, modules};
}

// Keeps what the model has: Megatron refuses modules without a layer of their kind.
Recompute for_model(Recompute r, const Model& model) {
  bool mla = false, dense = false, shared = false;
  for (const std::int32_t i : model.layers) {
    const LayerKind& kind = model.kinds[static_cast<std::size_t>(i)];
    const MoeFfn* moe = moe_of(kind);
    mla |= std::holds_alternative<MultiLatentAttention>(kind.attention);
    dense |= std::holds_alternative<DenseFfn>(kind.ffn);
    shared |= moe != nullptr && moe->shared_ffn_hidden_size > 0;
  }
  std::erase_if(r.modules, [&](M m) {
    return (m == M::mla_up_proj && !mla) || (m == M::mlp && !dense) || (m == M::shared_experts && !shared) ||
           ((m == M::moe || m == M::moe_act) && !model.has_moe());
  });
  if (r.granularity == RecomputeGranularity::selective && r.modules.empty()) r.granularity = RecomputeGranularity::none;
  return r;
}

// The words of the recompute column.
Recompute stated_recompute(const std::string& text, const Model& model) {
  if (has(text, "none") || has(text, "off")) return {};
  if (has(text, "full")) return {RecomputeGranularity::full, {}};
  // torchtitan's per-op policy recomputes every second matrix product and what is cheap.
  if (has(text, "per-op")) return for_model(selective({M::layernorm, M::mlp}), model);
  std::set<RecomputeModule> modules;
  std::string word;
  for (const char c : lower(text) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
      continue;
    }
    if (word == "norm" || word == "layernorm") modules.insert(M::layernorm);
    if (word == "act" || word == "moe_act" || word == "activation") modules.insert(M::moe_act);
    if (word == "moe") modules.insert(M::moe);
    if (word == "mlp") modules.insert(M::mlp);
    if (word == "mla_up_proj") modules.insert(M::mla_up_proj);
    if (word == "shared") modules.insert(M::shared_experts);
    if (word == "core_attn" || word == "selective") modules.insert(M::core_attn);
    word.clear();
  }
  if (has(text, "moe activation")) modules.erase(M::moe);
  Recompute r;
  r.granularity = RecomputeGranularity::selective;
  r.modules.assign(modules.begin(), modules.end());
  return for_model(r, model);
}

Dispatcher dispatcher_of(const std::string& text) {
  if (has(text, "hybridep")) return Dispatcher::hybridep;
  if (has(text, "deepep") || has(text, "uccl")) return Dispatcher::deepep;
  if (has(text, "allgather")) return Dispatcher::allgather;
  return Dispatcher::alltoall;
}

ScheduleSpec schedule_spec(const MeasuredRun& run, const Parallelism& p) {
  ScheduleSpec spec;
  spec.name = p.vpp > 1 ? "interleaved_1f1b" : "1f1b";
  const std::string& text = run.overlap;
  if (has(text, "dualpipe") && p.vpp == 1) spec.name = "dualpipe";
  if (p.ep > 1 &&
      (has(text, "ep overlap") || has(text, "ep comm overlap") || has(text, "a2a overlap") || has(text, "1f1b")))
    spec.overlap_moe_expert_parallel_comm = true;
  spec.delay_wgrad_compute =
      spec.overlap_moe_expert_parallel_comm && has(text, "delayed wgrad") && !has(text, "delayed wgrad off");
  return spec;
}

// The layers as even as possible over the stages, embedding and loss counted as a layer each.
LayoutSpec counted_layout(const Model& model, std::int64_t stages) {
  const std::int64_t mtp = model.mtp_num_layers;
  std::vector<std::int64_t> sizes = balanced_split(model.num_layers() + 2 + mtp, stages);
  std::reverse(sizes.begin(), sizes.end()); // the shorter stages first
  sizes.front() -= 1;
  sizes.back() -= 1 + mtp;
  // A last stage too small for the MTP block takes it from its neighbours' layers.
  for (std::size_t i = sizes.size(); sizes.back() < 0 && i-- > 1;) {
    const std::int64_t take = std::min(-sizes.back(), sizes[i - 1]);
    sizes[i - 1] -= take;
    sizes.back() += take;
  }
  return {.layout = to_layout(partition_of(sizes, mtp))};
}

struct Planned {
  LayoutSpec layout;
  Verdict verdict;
};

Verdict judge(const Scenario& s, const LayoutSpec& layout) {
  Parallelism p = s.parallelism;
  if (layout.layout) p.vpp = 1; // the layout string says how many chunks there are
  return check_legality(
      {s.model, p, s.batch, layout, s.schedule, s.recompute, s.cluster.num_gpus(), false, s.dispatcher}, false);
}

Verdict planned(const Scenario& s) {
  Verdict verdict = judge(s, {});
  const std::int64_t stages = s.parallelism.num_stages();
  if (verdict.legal() || s.model.num_layers() % stages == 0) return verdict;
  if ((s.model.num_layers() + 2) % stages == 0) {
    LayoutSpec counted;
    counted.account_for_embedding_in_pipeline_split = true;
    counted.account_for_loss_in_pipeline_split = true;
    const Verdict other = judge(s, counted);
    if (other.legal()) return other;
  }
  const Verdict other = judge(s, counted_layout(s.model, stages));
  return other.legal() ? other : verdict;
}

std::optional<std::string> missing_fact(const MeasuredRun& run) {
  if (!run.gpus) return "gpus is not stated";
  if (!run.seq) return "seq is not stated";
  if (!run.gbs) return "gbs is not stated";
  if (!run.tp || !run.pp) return "tp or pp is not stated";
  return std::nullopt;
}

// NVIDIA's recipes of dense models switch TP communication overlap on.
bool overlaps_tp(const MeasuredRun& run, const Model& model) {
  if (has(run.overlap, "asynctp")) return true;
  return !model.has_moe() && (has(run.framework, "nemo") || has(run.framework, "megatron-bridge"));
}

// torchtitan calls PyTorch's scaled_dot_product_attention; llm-foundry's figures are older than FlashAttention-3.
bool runs_flash_attention_2(const MeasuredRun& run) {
  return has(run.framework, "torchtitan") || has(run.framework, "llm-foundry");
}

// Every rule of one row, as values; legality is judged afterwards.
Scenario filled_in(const MeasuredRun& run, const Model& model, const Profile& profile) {
  Scenario s;
  s.name = run.id;
  s.model = model;
  s.cluster = measured_cluster(run, *run.gpus);
  s.profile = measured_profile(run, profile);
  if (overlaps_tp(run, model)) overlap_tp_collectives(s.profile, *run.tp);
  if (shards_parameters(run)) shard_parameters(s.profile);
  if (runs_flash_attention_2(run) && is_hopper(profile.gpu.name)) use_flash_attention_2(s.profile);
  if (!has(run.precision, "block") && !has(run.precision, "mx"))
    std::erase_if(s.profile.entries, [](const ProfileEntry& e) { return e.dtype == "fp8_block"; });
  const double host = has(run.overlap, "cuda graph") ? kHostOfMoeKernel * kGraphShare : kHostOfMoeKernel;
  s.profile.entries.push_back(host_of_moe_kernels(host));
  Parallelism& p = s.parallelism;
  p.world_size = *run.gpus;
  p.tp = *run.tp;
  p.pp = *run.pp;
  p.vpp = p.pp > 1 ? run.vpp.value_or(1) : 1;
  p.cp = run.cp.value_or(1);
  p.ep = model.has_moe() ? run.ep.value_or(1) : 1;
  const bool as_megatron = has(run.framework, "nemo") && p.world_size % (p.tp * p.ep * p.pp) == 0;
  p.etp = model.has_moe() ? run.etp.value_or(as_megatron ? p.tp : 1) : 1;
  s.batch = {run.mbs.value_or(1), *run.gbs, *run.seq};
  s.precision = has(run.precision, "fp8") ? Precision::fp8 : Precision::bf16;
  s.dispatcher = dispatcher_of(run.dispatcher);
  s.schedule = schedule_spec(run, p);
  s.optimizer = {true, true, true};
  s.recompute = empty_choice(run.recompute) ? Recompute{} : stated_recompute(run.recompute, model);
  if (has(run.recompute, "no sequence parallel")) p.sequence_parallel = false;
  if (has(run.routing, "natural"))
    if (const auto preset = routing_preset("natural")) s.routing = *preset;
  return s;
}

// The fullest rank of a fully sharded run, without recomputation.
bool sharded_fits(const Scenario& s) {
  const MemoryReport report = memory_of(s, schedule_of(s), 1.0);
  const std::int64_t shards = s.parallelism.dp() * s.parallelism.cp;
  return std::all_of(report.ranks.begin(), report.ranks.end(), [&](const RankMemory& m) {
    const std::int64_t state = (m.weights + m.gradients).count / shards + m.optimizer.count;
    return state + m.activations.count + m.buffers.count <= report.capacity.count;
  });
}

} // namespace

ProfileEntry host_of_moe_kernels(double seconds) {
  return {"host_moe",
          "",
          "",
          "constant",
          {{"seconds", seconds}},
          Provenance::assumed,
          "eager MoE layer: CPU time behind one kernel of ours",
          {}};
}

std::variant<Scenario, NotModelled> measured_scenario(const MeasuredRun& run, const Model& model,
                                                      const Profile& profile) {
  if (!run.contradictions.empty()) return NotModelled{"the row contradicts itself: " + run.contradictions.front()};
  if (const auto missing = missing_fact(run)) return NotModelled{*missing};
  if (has(run.network, "efa") && dispatcher_of(run.dispatcher) == Dispatcher::deepep)
    return NotModelled{"no cost entry for DeepEP over EFA: ours is of GPU-initiated RDMA on InfiniBand"};
  if (has(run.precision, "fp4")) return NotModelled{"no cost entries for " + run.precision};
  const std::int64_t per_node = run.gpus_per_node.value_or(8);
  if (*run.gpus > per_node && *run.gpus % per_node != 0)
    return NotModelled{fmt::format("{} GPUs are not whole nodes of {}", *run.gpus, per_node)};
  Model cut = model;
  if (run.layers && *run.layers != model.num_layers()) {
    if (model.kinds.size() != 1 || *run.layers > model.num_layers())
      return NotModelled{
          fmt::format("the row has {} layers, models/{} has {}", *run.layers, model.name, model.num_layers())};
    cut.layers.resize(static_cast<std::size_t>(*run.layers));
  }
  Scenario s = filled_in(run, cut, profile);
  Verdict verdict = planned(s);
  if (!verdict.legal()) return NotModelled{"not a legal plan: " + verdict.violations.front().message};
  s.partition = verdict.partition;
  s.parallelism.vpp = verdict.vpp;
  const auto illegal = check_schedule_spec(s.schedule, static_cast<std::int32_t>(s.parallelism.pp),
                                           static_cast<std::int32_t>(s.parallelism.vpp),
                                           static_cast<std::int32_t>(s.num_micro_batches()));
  if (illegal) return NotModelled{"not a legal schedule: " + illegal->rule};
  if (empty_choice(run.recompute) && shards_parameters(run) && !sharded_fits(s))
    s.recompute = {RecomputeGranularity::full, {}};
  return s;
}

bool shards_parameters(const MeasuredRun& run) {
  return has(run.sharding, "fsdp");
}

double measured_step_s(const MeasuredRun& run, const Scenario& s) {
  if (run.step_s) return *run.step_s;
  const auto gpus = static_cast<double>(s.parallelism.world_size);
  const double tokens = static_cast<double>(s.batch.global_batch_size) * static_cast<double>(s.batch.seq_length);
  if (run.tokens_s_gpu) return tokens / *run.tokens_s_gpu / gpus;
  if (run.tflops_per_gpu)
    return model_flops(s.model, s.batch, s.flops_convention).count / (*run.tflops_per_gpu * 1e12) / gpus;
  return 0.0;
}

} // namespace tessella
