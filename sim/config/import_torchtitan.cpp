#include "sim/config/import_torchtitan.h"
#include "sim/config/file_role.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "sim/base/error.h"
#include "sim/config/experiment.h"
#include "sim/config/flow_map.h"
#include "sim/config/message.h"
#include "sim/config/toml.h"

namespace tessella {
namespace {

using Words = std::pair<std::string_view, std::string_view>;

// name/flavor -> a file of models/. torchtitan trains without MTP.
constexpr Words kModels[] = {
    {"deepseek_v3/671B", "deepseek_v3_no_mtp"},
    {"llama3/8B", "llama3_1_8b"},
    {"llama3/70B", "llama3_70b"},
    {"llama3/405B", "llama3_1_405b"},
    {"llama4/17bx128e", "llama4_maverick_400b"},
    {"qwen3/8B", "qwen3_8b"},
    {"qwen3/30B-A3B", "qwen3_30b_a3b"},
    {"qwen3/235B-A22B", "qwen3_235b_a22b"},
};

constexpr Words kSchedules[] = {
    {"1F1B", "1f1b"},
    {"GPipe", "gpipe"},
    {"Interleaved1F1B", "interleaved_1f1b_torch"},
    {"LoopedBFS", "looped_bfs"},
    {"ZBVZeroBubble", "zb_v"},
    {"DualPipeV", "dualpipe_v"},
    {"InterleavedZeroBubble", "interleaved_zb"},
};

// Tables that do not change what a step costs in steady state.
constexpr std::string_view kIgnoredTables[] = {
    "job.",        "profiling.",       "metrics.", "optimizer.",         "lr_scheduler.", "checkpoint.",   "comm.",
    "validation.", "fault_tolerance.", "compile.", "memory_estimation.", "debug.",        "experimental.", "quantize.",
};

constexpr std::string_view kIgnoredKeys[] = {
    "model.hf_assets_path",
    "model.tokenizer_path",
    "model.print_after_conversion",
    "training.steps",
    "training.max_norm",
    "training.dataset",
    "training.dataset_path",
    "training.gc_freq",
    "training.gc_debug",
    "training.deterministic",
    "training.seed",
    "training.mixed_precision_param",
    "training.mixed_precision_reduce",
    "training.dtype",
    "training.debug_moe_force_load_balance",
    "parallelism.enable_compiled_autograd",
    "parallelism.context_parallel_rotate_method",
    "parallelism.fsdp_reshard_after_forward",
    "activation_checkpoint.selective_ac_option",
    "activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns",
    "activation_checkpoint.early_stop",
};

template <std::size_t N>
std::optional<std::string> known(const Words (&table)[N], std::string_view word) {
  const auto row = std::find_if(std::begin(table), std::end(table), [&](const Words& w) { return w.first == word; });
  return row == std::end(table) ? std::nullopt : std::optional(std::string(row->second));
}

template <std::size_t N>
std::string choices(const Words (&table)[N]) {
  std::vector<std::string> words;
  for (const Words& w : table) words.emplace_back(w.first);
  return comma_list(words);
}

class Job {
 public:
  Job(const std::string& file, std::vector<TomlEntry> entries) : file_(file), entries_(std::move(entries)) {}

  const TomlEntry* find(const std::string& path) {
    read_.insert(path);
    const auto at = std::find_if(entries_.begin(), entries_.end(), [&](const TomlEntry& e) { return e.path == path; });
    return at == entries_.end() ? nullptr : &*at;
  }

  std::string text(const std::string& path, const std::string& otherwise) {
    const TomlEntry* e = find(path);
    return e ? e->text : otherwise;
  }

  // A whole number; -1 stands for "not given", as in torchtitan.
  std::optional<std::int64_t> count(const std::string& path) {
    const TomlEntry* e = find(path);
    if (!e) return std::nullopt;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(e->text.data(), e->text.data() + e->text.size(), value);
    if (error != std::errc() || end != e->text.data() + e->text.size() || e->is_text)
      throw InputError(e->where, fmt::format("{} is not a whole number", in_quotes(e->text)));
    if (value == -1) return std::nullopt;
    if (value < 1 || value > (std::int64_t{1} << 24))
      throw InputError(e->where, fmt::format("{} is out of range", value));
    return value;
  }

  [[noreturn]] void fail(const std::string& path, const std::string& message) {
    const TomlEntry* e = find(path);
    throw InputError(e ? e->where : SourceSpan{file_, 0, 0, 0, {}}, message);
  }

  void sort_out(ImportedTorchtitan& out) const {
    for (const TomlEntry& e : entries_) {
      if (read_.contains(e.path)) continue;
      const bool ignored =
          std::any_of(std::begin(kIgnoredTables), std::end(kIgnoredTables),
                      [&](std::string_view table) { return e.path.starts_with(table); }) ||
          std::find(std::begin(kIgnoredKeys), std::end(kIgnoredKeys), e.path) != std::end(kIgnoredKeys);
      (ignored ? out.ignored : out.unknown).push_back(e.path);
    }
  }

 private:
  const std::string& file_;
  std::vector<TomlEntry> entries_;
  std::set<std::string> read_;
};

struct Sizes {
  std::int64_t tp = 1, cp = 1, pp = 1, ep = 1, etp = 1, dp = 1;
  std::int64_t world() const { return tp * cp * pp * dp; }
};

Sizes read_sizes(Job& job, std::optional<std::int64_t> world) {
  Sizes s;
  const auto degree = [&](const char* key) { return job.count(fmt::format("parallelism.{}", key)).value_or(1); };
  s.tp = degree("tensor_parallel_degree");
  s.cp = degree("context_parallel_degree");
  s.pp = degree("pipeline_parallel_degree");
  s.ep = degree("expert_parallel_degree");
  s.etp = degree("expert_tensor_parallel_degree");
  const std::int64_t replicas = degree("data_parallel_replicate_degree");
  const auto shards = job.count("parallelism.data_parallel_shard_degree");
  if (!shards && !world)
    job.fail("parallelism.data_parallel_shard_degree", "all GPUs that are left: give their number with --gpus N");
  const std::int64_t others = replicas * s.tp * s.cp * s.pp;
  if (world && (*world % others != 0 || (shards && *world != others * *shards)))
    job.fail("parallelism.data_parallel_shard_degree",
             fmt::format("{} GPUs are not {} (replicas x tp x cp x pp) times {}", *world, others,
                         shards ? std::to_string(*shards) : "a whole number of shards"));
  s.dp = replicas * (shards ? *shards : *world / others);
  return s;
}

std::string model_of(Job& job, const TorchtitanSettings& settings) {
  const std::string flavor = job.text("model.name", "") + "/" + job.text("model.flavor", "");
  if (settings.model) return *settings.model;
  if (const auto model = known(kModels, flavor)) return *model;
  job.fail("model.flavor", fmt::format("{} is none of the models we know by torchtitan's names ({}); give --model NAME "
                                       "or PATH",
                                       in_quotes(flavor), choices(kModels)));
}

std::string batch_of(Job& job, const Sizes& sizes) {
  const auto local = job.count("training.local_batch_size");
  const std::int64_t of_rank = local ? *local : job.count("training.batch_size").value_or(8);
  const std::int64_t micro =
      job.count("parallelism.pipeline_parallel_microbatch_size").value_or(1); // torchtitan's default
  const std::int64_t global = job.count("training.global_batch_size").value_or(of_rank * sizes.dp);
  FlowMap map;
  map.count("micro_batch_size", sizes.pp > 1 ? micro : of_rank);
  map.count("global_batch_size", global);
  return map.count("seq_length", job.count("training.seq_len").value_or(2048)).text();
}

std::string schedule_of(Job& job, const Sizes& sizes, std::int64_t& vpp) {
  const std::string name = job.text("parallelism.pipeline_parallel_schedule", "1F1B");
  for (const char* key : {"pipeline_parallel_layers_per_stage", "pipeline_parallel_schedule_csv",
                          "module_fqns_per_model_part", "pipeline_parallel_split_points"})
    if (job.find(fmt::format("parallelism.{}", key)) && sizes.pp > 1)
      job.fail(fmt::format("parallelism.{}", key), "a cut of the layers is not imported; give the experiment a "
                                                   "pipeline_model_parallel_layout");
  vpp = 1;
  if (sizes.pp == 1) return "1f1b";
  const auto ours = known(kSchedules, name);
  if (!ours)
    job.fail("parallelism.pipeline_parallel_schedule",
             fmt::format("schedule {} is none of {}", in_quotes(name), choices(kSchedules)));
  vpp = *ours == "1f1b" || *ours == "gpipe" ? 1 : 2;
  return *ours;
}

std::string recompute_of(Job& job, std::vector<std::string>& warnings) {
  const std::string mode = job.text("activation_checkpoint.mode", "selective");
  if (mode == "none" || mode == "full") return fmt::format("{{granularity: {}}}", mode);
  if (mode != "selective")
    job.fail("activation_checkpoint.mode", fmt::format("{} is none of none, selective, full", in_quotes(mode)));
  warnings.emplace_back("activation_checkpoint.mode selective: taken as recomputing layernorm and moe_act");
  return "{granularity: selective, modules: [layernorm, moe_act]}";
}

std::string precision_of(Job& job) {
  const TomlEntry* converters = job.find("model.converters");
  const bool fp8 =
      converters && std::find(converters->items.begin(), converters->items.end(), "float8") != converters->items.end();
  return fp8 ? "fp8" : "bf16";
}

const char* topology_for(std::int64_t world) {
  return world <= 8      ? "h100_node_8"
         : world <= 256  ? "h100_rail_256"
         : world <= 1024 ? "h100_rail_1024"
                         : "hopper_rail_12288";
}

void warn(Job& job, const Sizes& s, const TorchtitanSettings& settings, std::vector<std::string>& warnings) {
  if (s.dp > 1)
    warnings.emplace_back("FSDP is taken as a distributed optimizer: weights and gradients stay whole on every rank, "
                          "and parameters are gathered once a step; memory is overstated, traffic understated");
  if (job.text("parallelism.enable_async_tensor_parallel", "false") == "true")
    warnings.emplace_back("enable_async_tensor_parallel: tensor-parallel communication counts as exposed");
  if (!settings.topology || !settings.profile)
    warnings.emplace_back("the file does not say which GPUs and network: Hopper is assumed; change cluster");
}

} // namespace

ImportedTorchtitan import_torchtitan(const std::string& file_name, const std::string& text,
                                     const TorchtitanSettings& settings) {
  require_role(file_name, text, FileRole::torchtitan);
  Job job(file_name, parse_toml(file_name, text));
  ImportedTorchtitan out;
  const Sizes s = read_sizes(job, settings.world);
  const bool offload = job.text("training.enable_cpu_offload", "false") == "true";
  if (offload) job.fail("training.enable_cpu_offload", "offloading to the host is not modelled");
  const bool loss_parallel = job.text("parallelism.disable_loss_parallel", "false") == "true";
  if (loss_parallel) out.warnings.emplace_back("disable_loss_parallel: the loss counts as parallel over tp");
  std::int64_t vpp = 1;
  const std::string schedule = schedule_of(job, s, vpp);
  FlowMap sizes;
  sizes.count("world_size", s.world()).count("tensor_model_parallel_size", s.tp).count("context_parallel_size", s.cp);
  sizes.count("pipeline_model_parallel_size", s.pp).count("num_virtual_stages_per_pipeline_rank", vpp);
  sizes.count("expert_model_parallel_size", s.ep).count("expert_tensor_parallel_size", s.etp);
  sizes.raw("sequence_parallel", s.tp > 1 ? "true" : "false");
  std::string& y = out.yaml;
  y = "# Imported from a torchtitan job.\n";
  y += fmt::format("experiment: {}\nmodel: {}\n", settings.name, quote_yaml(model_of(job, settings)));
  y += fmt::format("cluster: {{topology: {}, profile: {}}}\n",
                   quote_yaml(settings.topology.value_or(topology_for(s.world()))),
                   quote_yaml(settings.profile.value_or("h100_sxm/2026-11-29-published")));
  y += fmt::format("parallelism: {}\nbatch: {}\n", sizes.text(), batch_of(job, s));
  y += fmt::format("precision: {}\nrecompute: {}\n", precision_of(job), recompute_of(job, out.warnings));
  y += fmt::format("schedule: {{name: {}}}\noptimizer: {{use_distributed_optimizer: true, overlap_grad_reduce: true, "
                   "overlap_param_gather: true}}\n",
                   schedule);
  if (s.ep > 1) y += "routing: {kind: generator}\n"; // without, every rank keeps its tokens
  warn(job, s, settings, out.warnings);
  job.sort_out(out);
  read_experiment("imported experiment", y); // what is written reads back
  return out;
}

} // namespace tessella
