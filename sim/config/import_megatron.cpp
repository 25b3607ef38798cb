#include "sim/config/import_megatron.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.h"
#include "sim/config/experiment.h"
#include "sim/config/flow_map.h"
#include "sim/config/megatron_args.h"
#include "sim/config/megatron_flags.h"
#include "sim/config/megatron_model.h"
#include "sim/config/megatron_values.h"
#include "sim/config/message.h"
#include "sim/config/reader.h"

namespace tessella {
namespace {

std::int64_t world_of(const MegatronValues& f) {
  if (const auto world = f.count("world-size", {"WORLD_SIZE", "NUM_GPUS"})) return *world;
  const auto nodes = f.count("nnodes", {"NNODES", "NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"});
  if (!nodes) throw InputError("world size", "is missing; give WORLD_SIZE=N or NNODES=N (and GPUS_PER_NODE=8)");
  if (*nodes > (1 << 24)) throw InputError("NNODES", fmt::format("is {}", *nodes));
  const std::int64_t per_node =
      f.count("nproc-per-node", {"GPUS_PER_NODE", "NPROC_PER_NODE"}).value_or(f.count("nproc_per_node").value_or(8));
  if (per_node < 1 || per_node > 1024) throw InputError("GPUS_PER_NODE", fmt::format("is {}", per_node));
  return *nodes * per_node;
}

std::string dispatcher_of(const MegatronValues& f) {
  std::string type = f.text("moe-token-dispatcher-type", {"DISPATCHER"}).value_or("allgather"); // Megatron's default
  if (type == "flex") type = f.text("moe-flex-dispatcher-backend").value_or("deepep");
  if (f.on("moe-enable-deepep")) type = "deepep";
  return type;
}

// A bias evens out what lasts, whatever small loss stands beside it.
const char* balancing_of(const MegatronValues& flags) {
  if (flags.on("moe-router-enable-expert-bias")) return "loss_free_bias";
  const std::string type = flags.text("moe-router-load-balancing-type").value_or("aux_loss");
  if (type == "global_aux_loss") return "global_batch";
  return type == "none" ? "none" : "aux_loss";
}

class Writer {
 public:
  Writer(const MegatronValues& flags, std::vector<std::string>& warnings) : f_(flags), warnings_(warnings) {}

  std::string routing() const {
    FlowMap map;
    if (f_.on("moe-router-force-load-balancing"))
      map.raw("kind", "balanced");
    else
      map.raw("kind", "generator").raw("balancing", balancing_of(f_));
    if (const auto factor = f_.text("moe-expert-capacity-factor")) map.raw("capacity_factor", *factor);
    if (f_.on("moe-pad-expert-input-to-capacity")) map.raw("pad_to_capacity", "true");
    return map.text();
  }

  std::string parallelism(std::int64_t world) {
    FlowMap map;
    map.count("world_size", world);
    const auto put = [&](const char* key, const char* flag, std::initializer_list<const char*> variables) {
      if (const auto value = f_.count(flag, variables)) map.count(key, *value);
    };
    put("tensor_model_parallel_size", "tensor-model-parallel-size", {"TP", "TP_SIZE"});
    put("context_parallel_size", "context-parallel-size", {"CP", "CP_SIZE"});
    put("pipeline_model_parallel_size", "pipeline-model-parallel-size", {"PP", "PP_SIZE"});
    if (const auto vpp = virtual_stages()) map.count("num_virtual_stages_per_pipeline_rank", *vpp);
    put("expert_model_parallel_size", "expert-model-parallel-size", {"EP", "EP_SIZE"});
    put("expert_tensor_parallel_size", "expert-tensor-parallel-size", {"ETP", "ETP_SIZE"});
    if (f_.count("tensor-model-parallel-size", {"TP", "TP_SIZE"}).value_or(1) > 1)
      map.raw("sequence_parallel", f_.on("sequence-parallel") ? "true" : "false");
    if (const auto layout = f_.text("pipeline-model-parallel-layout", {"PP_LAYOUT", "LAYOUT"}))
      map.quote("pipeline_model_parallel_layout", *layout);
    put("decoder_first_pipeline_num_layers", "decoder-first-pipeline-num-layers", {});
    put("decoder_last_pipeline_num_layers", "decoder-last-pipeline-num-layers", {});
    if (f_.on("account-for-embedding-in-pipeline-split")) map.raw("account_for_embedding_in_pipeline_split", "true");
    if (f_.on("account-for-loss-in-pipeline-split")) map.raw("account_for_loss_in_pipeline_split", "true");
    return map.text();
  }

  std::string batch() {
    return FlowMap()
        .count("micro_batch_size", f_.required("micro-batch-size", {"MBS", "MICRO_BATCH_SIZE"}))
        .count("global_batch_size", f_.required("global-batch-size", {"GBS", "GLOBAL_BATCH_SIZE"}))
        .count("seq_length", f_.required("seq-length", {"SEQ_LEN", "SEQ_LENGTH", "SEQ"}))
        .text();
  }

  std::string precision() {
    if (f_.on("fp16")) warnings_.push_back("--fp16 is costed as bf16");
    if (!f_.on("bf16") && !f_.on("fp16"))
      warnings_.push_back("neither --bf16 nor --fp16 is given: Megatron would train in fp32; costed as bf16");
    return f_.on("fp8-format") || f_.on("fp8-recipe") ? "fp8" : "bf16";
  }

  std::string recompute() {
    const auto granularity = f_.text("recompute-granularity");
    if (!granularity) return "{granularity: none}";
    FlowMap map;
    map.raw("granularity", quote_yaml(*granularity));
    const auto modules = f_.list("recompute-modules");
    if (*granularity == "selective" && !modules.empty()) {
      std::string list;
      for (const std::string& module : modules) list += (list.empty() ? "" : ", ") + quote_yaml(module);
      map.raw("modules", "[" + list + "]");
    }
    if (*granularity == "full" && (f_.text("recompute-method") == "block"))
      warnings_.push_back(
          "--recompute-method block: every layer is recomputed, not only the first --recompute-num-layers");
    return map.text();
  }

  std::string schedule() {
    FlowMap map;
    const bool interleaved = virtual_stages().value_or(1) > 1;
    map.raw("name", interleaved ? "interleaved_1f1b" : "1f1b");
    if (const auto group = f_.count("microbatch-group-size-per-virtual-pipeline-stage"); group && interleaved)
      map.count("microbatch_group_size_per_vp_stage", *group);
    const bool overlap = f_.on("overlap-moe-expert-parallel-comm") || f_.text("", {"A2A_OVERLAP"}) == "1";
    return map.flag_unless("overlap_moe_expert_parallel_comm", overlap, false)
        .flag_unless("delay_wgrad_compute", f_.on("delay-wgrad-compute"), false)
        .text();
  }

  std::string optimizer() {
    return FlowMap()
        .raw("use_distributed_optimizer", f_.on("use-distributed-optimizer") ? "true" : "false")
        .raw("overlap_grad_reduce", f_.on("overlap-grad-reduce") ? "true" : "false")
        .raw("overlap_param_gather", f_.on("overlap-param-gather") ? "true" : "false")
        .text();
  }

 private:
  std::optional<std::int64_t> virtual_stages() {
    if (const auto vpp = f_.count("num-virtual-stages-per-pipeline-rank", {"VPP", "VP"})) return vpp;
    const auto per_stage = f_.count("num-layers-per-virtual-pipeline-stage");
    if (!per_stage) return std::nullopt;
    const std::int64_t layers = f_.required("num-layers");
    const std::int64_t pp = f_.count("pipeline-model-parallel-size", {"PP", "PP_SIZE"}).value_or(1);
    const std::int64_t chunk = *per_stage * pp;
    if (chunk < 1 || layers % chunk != 0)
      throw InputError("--num-layers-per-virtual-pipeline-stage",
                       fmt::format("{} layers are not a multiple of {} x {} pipeline ranks", layers, *per_stage, pp));
    return layers / chunk;
  }

  const MegatronValues& f_;
  std::vector<std::string>& warnings_;
};

void sort_out(const MegatronValues& f, ImportedExperiment& out) {
  std::vector<std::string> refused;
  for (const auto& [flag, values] : f.args().flags) {
    const FlagRole role = megatron_flag_role(flag);
    if (role == FlagRole::ignored) out.ignored.push_back("--" + flag);
    if (role == FlagRole::unknown) out.unknown.push_back("--" + flag);
    if (role == FlagRole::refused) refused.push_back("--" + flag);
  }
  if (!refused.empty())
    throw InputError(refused[0],
                     fmt::format("changes what a step costs in a way that is not modelled{}",
                                 refused.size() > 1 ? "; so do " + comma_list(std::span(refused).subspan(1)) : ""));
}

const char* topology_for(std::int64_t world) {
  return world <= 8      ? "h100_node_8"
         : world <= 256  ? "h100_rail_256"
         : world <= 1024 ? "h100_rail_1024"
                         : "hopper_rail_12288";
}

} // namespace

ImportedExperiment import_megatron(const std::vector<std::pair<std::string, std::string>>& texts,
                                   const MegatronSettings& settings, const std::string& model_file) {
  MegatronArgs args;
  for (const auto& [file_name, text] : texts) add_megatron_text(args, file_name, text);
  resolve_variables(args);
  const MegatronValues flags(std::move(args));
  ImportedExperiment out;
  sort_out(flags, out);
  if (!settings.model) out.model = megatron_model(flags, settings.name, out.warnings);
  const std::int64_t world = world_of(flags);
  if (!settings.topology || !settings.profile)
    out.warnings.push_back("the flags do not say which GPUs and network: Hopper is assumed; change cluster");
  Writer writer(flags, out.warnings);
  std::string& y = out.yaml;
  y = "# Imported from Megatron-LM flags.\n";
  y += fmt::format("experiment: {}\nmodel: {}\n", settings.name, quote_yaml(settings.model.value_or(model_file)));
  y += fmt::format("cluster: {{topology: {}, profile: {}}}\n",
                   quote_yaml(settings.topology.value_or(topology_for(world))),
                   quote_yaml(settings.profile.value_or("h100_sxm/2026-11-29-published")));
  y += fmt::format("parallelism: {}\nbatch: {}\nprecision: {}\nrecompute: {}\n", writer.parallelism(world),
                   writer.batch(), writer.precision(), writer.recompute());
  if (settings.model || out.model->has_moe()) {
    y += fmt::format("moe: {{token_dispatcher_type: {}}}\n", quote_yaml(dispatcher_of(flags)));
    y += fmt::format("routing: {}\n", writer.routing());
  }
  y += fmt::format("schedule: {}\noptimizer: {}\n", writer.schedule(), writer.optimizer());
  read_experiment("imported experiment", y); // what is written reads back
  return out;
}

} // namespace tessella
