// experiments/*/experiment.yaml -> Experiment: one function per section.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/config/document.h"
#include "sim/config/experiment.h"
#include "sim/config/experiment_keys.h"
#include "sim/config/file_role.h"
#include "sim/config/input_limits.h"
#include "sim/config/load_events.h"
#include "sim/config/override.h"

namespace tessella {
namespace {

constexpr Choice<Precision> kPrecisions[] = {{"bf16", Precision::bf16}, {"fp8", Precision::fp8}};
constexpr Choice<RecomputeGranularity> kGranularities[] = {{"none", RecomputeGranularity::none},
                                                           {"selective", RecomputeGranularity::selective},
                                                           {"full", RecomputeGranularity::full}};
constexpr Choice<RecomputeModule> kModules[] = {{"core_attn", RecomputeModule::core_attn},
                                                {"moe_act", RecomputeModule::moe_act},
                                                {"layernorm", RecomputeModule::layernorm},
                                                {"mla_up_proj", RecomputeModule::mla_up_proj},
                                                {"mlp", RecomputeModule::mlp},
                                                {"moe", RecomputeModule::moe},
                                                {"shared_experts", RecomputeModule::shared_experts}};
constexpr Choice<Dispatcher> kDispatchers[] = {{"alltoall", Dispatcher::alltoall},
                                               {"allgather", Dispatcher::allgather},
                                               {"deepep", Dispatcher::deepep},
                                               {"hybridep", Dispatcher::hybridep}};
constexpr Choice<RoutingKind> kRoutings[] = {{"balanced", RoutingKind::balanced},
                                             {"generator", RoutingKind::generator},
                                             {"loads", RoutingKind::loads},
                                             {"trace", RoutingKind::trace}};
constexpr Choice<Balancing> kBalancings[] = {{"none", Balancing::none},
                                             {"aux_loss", Balancing::aux_loss},
                                             {"global_batch", Balancing::global_batch},
                                             {"loss_free_bias", Balancing::loss_free_bias}};
constexpr Choice<MigrationMethod> kMigrations[] = {
    {"none", MigrationMethod::none}, {"swap", MigrationMethod::swap}, {"replicate", MigrationMethod::replicate}};
constexpr Choice<Movable> kMovables[] = {{"wgrad", Movable::wgrad},
                                         {"gradient_reduction", Movable::gradient_reduction},
                                         {"recompute", Movable::recompute},
                                         {"optimizer_prefetch", Movable::optimizer_prefetch},
                                         {"checkpoint_hash", Movable::checkpoint_hash}};
constexpr Choice<FlopsConvention> kConventions[] = {{"causal", FlopsConvention::causal},
                                                    {"full_attention", FlopsConvention::full_attention}};

template <class E, std::size_t N>
auto choice(std::string_view what, const Choice<E> (&table)[N]) {
  return [what, &table](const Node& node) { return read_choice<E>(node, what, table); };
}

Reference read_reference(const Node& node) {
  return {read_text(node), node.where()};
}

// Sections of the experiment, each a map with the aliases.
class SectionReader {
 public:
  SectionReader(Experiment& experiment, Problems& problems, const LoadOptions& options)
      : e_(experiment), s_(experiment.draft), problems_(problems), options_(options) {}

  void read_root(const Node& root) {
    MapReader map(root, problems_, "the experiment");
    std::string question; // for people
    map.required("experiment", s_.name, read_name);
    map.optional("question", question, read_text);
    map.required("model", e_.model, read_reference);
    section(map, "cluster", true, [this](MapReader& m) { read_cluster(m); });
    section(map, "parallelism", false, [this](MapReader& m) { read_parallelism(m); });
    section(map, "batch", true, [this](MapReader& m) { read_batch(m); });
    map.optional("precision", s_.precision, choice("precision", kPrecisions));
    section(map, "recompute", false, [this](MapReader& m) { read_recompute(m); });
    section(map, "moe", false, [this](MapReader& m) {
      m.optional("token_dispatcher_type", s_.dispatcher, choice("token_dispatcher_type", kDispatchers));
    });
    section(map, "schedule", false, [this](MapReader& m) { read_schedule(m); });
    section(map, "optimizer", false, [this](MapReader& m) {
      m.optional("use_distributed_optimizer", s_.optimizer.distributed, read_bool);
      m.optional("overlap_grad_reduce", s_.optimizer.overlap_grad_reduce, read_bool);
      m.optional("overlap_param_gather", s_.optimizer.overlap_param_gather, read_bool);
      m.optional("offload", s_.optimizer.offload, read_bool);
    });
    section(map, "routing", false, [this](MapReader& m) { read_routing(m); });
    section(map, "jitter", false, [this](MapReader& m) {
      m.optional("kernel", s_.jitter.kernel, read_fraction);
      m.optional("fabric", s_.jitter.fabric, read_fraction);
    });
    section(map, "bubble_filler", false, [this](MapReader& m) { read_bubble_filler(m); });
    map.optional("events", s_.events,
                 [this](const Node& node) { return read_events(node, problems_, e_.event_where); });
    section(map, "expert_migration", false, [this](MapReader& m) { read_expert_migration(m); });
    section(map, "replan", false, [this](MapReader& m) { read_replan(m); });
    map.optional("flops_convention", s_.flops_convention, choice("flops_convention", kConventions));
    section(map, "simulation", false, [this](MapReader& m) {
      m.optional("seed", s_.seed, [](const Node& n) { return static_cast<std::uint64_t>(Count("seed", 0)(n)); });
      m.optional("steps", s_.steps, Count("steps"));
      m.optional("warm_up", s_.warm_up, Count("warm_up", 0));
    });
    map.done();
  }

 private:
  template <class Read>
  void section(MapReader& map, std::string_view key, bool required, const Read& read) {
    bool present = false;
    const auto reader = [&](const Node& node) {
      MapReader inner(node, problems_, key, kExperimentAliases);
      read(inner);
      inner.done();
      return true;
    };
    if (required)
      map.required(key, present, reader);
    else
      map.optional(key, present, reader);
  }

  void read_cluster(MapReader& m) {
    m.required("topology", e_.topology, read_reference);
    m.required("profile", e_.profile, read_reference);
  }

  void read_parallelism(MapReader& m) {
    Parallelism& p = s_.parallelism;
    const auto size = [&](const Count& count, auto& out) { m.optional(count.key, out, count); };
    size(Count("world_size"), e_.world_size);
    size(Count("tensor_model_parallel_size"), p.tp);
    size(Count("context_parallel_size"), p.cp);
    size(Count("pipeline_model_parallel_size"), p.pp);
    size(Count("num_virtual_stages_per_pipeline_rank"), e_.vpp);
    size(Count("expert_model_parallel_size"), p.ep);
    size(Count("expert_tensor_parallel_size"), e_.etp);
    m.optional("sequence_parallel", p.sequence_parallel, read_bool);
    m.optional("pipeline_model_parallel_layout", e_.layout.layout, read_text);
    size(Count("decoder_first_pipeline_num_layers"), e_.layout.decoder_first_pipeline_num_layers);
    size(Count("decoder_last_pipeline_num_layers"), e_.layout.decoder_last_pipeline_num_layers);
    m.optional("account_for_embedding_in_pipeline_split", e_.layout.account_for_embedding_in_pipeline_split, read_bool);
    m.optional("account_for_loss_in_pipeline_split", e_.layout.account_for_loss_in_pipeline_split, read_bool);
    const std::string derived = "it follows from world_size and the other sizes";
    for (const char* key : {"data_parallel_size", "dp", "data_parallel_shard_degree"}) m.refuse(key, derived);
    m.refuse("num_layers_per_virtual_pipeline_stage",
             "give num_virtual_stages_per_pipeline_rank = layers / (pipeline ranks * layers per virtual stage)");
  }

  void read_batch(MapReader& m) {
    Batch& b = s_.batch;
    m.required("micro_batch_size", b.micro_batch_size, Count("micro_batch_size"));
    m.required("global_batch_size", b.global_batch_size, Count("global_batch_size"));
    m.required("seq_length", b.seq_length, Count("seq_length"));
    if (b.micro_batch_size * b.seq_length > limit("micro_batch_tokens"))
      m.problem("seq_length", fmt::format("micro_batch_size * seq_length is {}, above the limit of {}",
                                          b.micro_batch_size * b.seq_length, limit("micro_batch_tokens")));
  }

  void read_recompute(MapReader& m) {
    Recompute& r = s_.recompute;
    m.required("granularity", r.granularity, choice("granularity", kGranularities));
    if (r.granularity != RecomputeGranularity::selective) {
      m.refuse("modules", "only granularity selective recomputes modules");
      return;
    }
    r.modules = {RecomputeModule::core_attn}; // Megatron's default
    m.optional("modules", r.modules, [&](const Node& node) {
      const auto modules = read_list<RecomputeModule>(node, problems_, choice("recompute module", kModules));
      for (std::size_t i = 0; i < modules.size(); ++i)
        if (std::find(modules.begin(), modules.begin() + static_cast<std::ptrdiff_t>(i), modules[i]) !=
            modules.begin() + static_cast<std::ptrdiff_t>(i))
          throw InputError(node.where(), fmt::format("recompute module '{}' is listed twice", name(modules[i])));
      return modules;
    });
  }

  void read_schedule(MapReader& m) {
    m.optional("name", s_.schedule.name, [&](const Node& node) {
      if (options_.schedules.empty()) return read_name(node);
      return options_.schedules[read_word(node, "schedule", options_.schedules)];
    });
    m.optional("microbatch_group_size_per_vp_stage", s_.schedule.microbatch_group_size,
               Count("microbatch_group_size_per_vp_stage"));
    m.optional("overlap_moe_expert_parallel_comm", s_.schedule.overlap_moe_expert_parallel_comm, read_bool);
    m.optional("delay_wgrad_compute", s_.schedule.delay_wgrad_compute, read_bool);
    read_overlap(m);
    m.optional("file", e_.schedule_file, [](const Node& node) { return std::optional(read_reference(node)); });
    if (e_.schedule_file && !options_.schedule_file)
      for (const char* key : {"name", "microbatch_group_size_per_vp_stage", "overlap_moe_expert_parallel_comm"})
        m.refuse(key, "schedule.file has the whole order");
  }

  void read_overlap(MapReader& schedule) {
    bool present = false;
    schedule.optional("overlap", present, [&](const Node& node) {
      MapReader m(node, problems_, "overlap");
      m.optional("scheduler", s_.overlap.scheduler, [&](const Node& word) {
        if (options_.overlap_schedulers.empty()) return read_name(word);
        return options_.overlap_schedulers[read_word(word, "overlap scheduler", options_.overlap_schedulers)];
      });
      m.optional("orders", e_.orders, [](const Node& file) { return std::optional(read_reference(file)); });
      m.done();
      return true;
    });
  }

  void read_bubble_filler(MapReader& m) {
    BubbleFillerSpec& f = s_.bubble_filler;
    m.required("policy", f.policy, [&](const Node& node) {
      if (options_.fill_policies.empty()) return read_name(node);
      return options_.fill_policies[read_word(node, "policy of the bubble filler", options_.fill_policies)];
    });
    m.optional("pool", f.pool, Count("pool"));
    m.optional("decision_cost", f.decision_cost, read_duration);
    m.optional("movable", f.movable, [this](const Node& node) {
      return read_list<Movable>(node, problems_, [this](const Node& item) {
        const auto kind = read_choice<Movable>(item, "movable kind", kMovables);
        check_movable(item, kind);
        return kind;
      });
    });
  }

  // Moving what the run does not have would change nothing, silently.
  void check_movable(const Node& item, Movable kind) const {
    const auto refuse = [&](bool when, const char* why) {
      if (when) throw InputError(item.where(), why);
    };
    refuse(kind == Movable::gradient_reduction && !s_.optimizer.overlap_grad_reduce,
           "gradient_reduction moves reductions beside the backward pass; set optimizer.overlap_grad_reduce: true");
    refuse(kind == Movable::recompute && s_.recompute.granularity != RecomputeGranularity::selective,
           "recompute moves selective recomputation ahead of its backward, and nothing is recomputed selectively; set "
           "recompute.granularity: selective");
    refuse(kind == Movable::optimizer_prefetch && !s_.optimizer.offload,
           "optimizer_prefetch brings optimizer state back from host memory, and nothing is offloaded; set "
           "optimizer.offload: true");
  }

  void read_expert_migration(MapReader& m) {
    ExpertMigrationSpec& x = s_.expert_migration;
    m.required("method", x.method, choice("method of expert_migration", kMigrations));
    m.optional("trigger", x.trigger, Number{"trigger", 1.0, static_cast<double>(limit("num_experts"))});
    m.optional("every", x.every, Count("every"));
    m.optional("max_swaps", x.max_swaps, Count("max_swaps"));
    m.optional("redundant", x.redundant, Count("redundant"));
  }

  void read_replan(MapReader& m) {
    ReplanSpec& r = s_.replan;
    r.on = true;
    m.optional("tolerance", r.tolerance, read_fraction);
    m.optional("patience", r.patience, Count("patience"));
    m.optional("profiling", r.profiling, read_duration);
    m.optional("planning", r.planning, read_duration);
  }

  // A preset is a starting point; keys beside it change what it says.
  void read_routing(MapReader& m) {
    RoutingSpec& r = s_.routing;
    m.optional("preset", r, read_preset);
    const bool by_preset = m.find("preset") != nullptr && r != *routing_preset("natural");
    if (m.find("preset"))
      m.optional("kind", r.kind, choice("kind of routing", kRoutings));
    else
      m.required("kind", r.kind, choice("kind of routing", kRoutings));
    const std::string only = "only routing of kind ";
    if (by_preset) m.refuse("balancing", "this preset is a router as it was measured; take preset natural");
    if (r.kind == RoutingKind::generator) {
      if (!by_preset)
        m.optional("balancing", r.balancing, [](const Node& node) {
          return std::optional(read_choice<Balancing>(node, "balancing method", kBalancings));
        });
      const double max_sigma = static_cast<double>(limit("sigma"));
      m.optional("static_sigma", r.static_sigma, Number{"static_sigma", 0.0, max_sigma});
      m.optional("drift_sigma", r.drift_sigma, Number{"drift_sigma", 0.0, max_sigma});
      m.optional("drift_phi", r.drift_phi, Number{"drift_phi", 0.0, 1.0});
      m.optional("noise_sigma", r.noise_sigma, Number{"noise_sigma", 0.0, max_sigma});
    } else {
      for (const char* key : {"balancing", "static_sigma", "drift_sigma", "drift_phi", "noise_sigma"})
        m.refuse(key, only + "generator has it");
    }
    if (r.kind == RoutingKind::loads)
      m.required("loads", r.loads, [&](const Node& node) { return read_loads(node); });
    else
      m.refuse("loads", only + "loads has it");
    if (r.kind == RoutingKind::trace)
      m.required("trace_file", r.trace_file, read_text);
    else
      m.refuse("trace_file", only + "trace has it");
    m.optional("capacity_factor", r.capacity_factor, [](const Node& node) {
      return std::optional(Number{"capacity_factor", 0.01, static_cast<double>(limit("capacity_factor"))}(node));
    });
    m.optional("pad_to_capacity", r.pad_to_capacity, read_bool);
  }

  static RoutingSpec read_preset(const Node& node) {
    std::vector<std::string> names;
    for (const RoutingPreset& preset : routing_presets()) names.push_back(preset.name);
    return routing_presets()[read_word(node, "preset of routing", names)].spec;
  }

  std::vector<double> read_loads(const Node& node) {
    auto loads = read_list<double>(node, problems_, Number{"load", 0.0, kMaxPlain});
    if (std::none_of(loads.begin(), loads.end(), [](double load) { return load > 0.0; }))
      throw InputError(node.where(), "loads needs at least one load above 0");
    return loads;
  }

  Experiment& e_;
  Scenario& s_;
  Problems& problems_;
  const LoadOptions& options_;
};

} // namespace

Experiment read_experiment(const std::string& file_name, const std::string& text, const LoadOptions& options) {
  require_role(file_name, text, FileRole::experiment);
  Experiment e;
  e.root = parse_document(std::make_shared<const Source>(Source::file(file_name, text)));
  apply_overrides(e.root, options.overrides);
  Problems problems;
  SectionReader(e, problems, options).read_root(e.root);
  if (options.steps && (*options.steps < 1 || *options.steps > limit("steps")))
    problems.add(
        InputError("--steps", fmt::format("{} is not between 1 and the limit of {}", *options.steps, limit("steps"))));
  problems.throw_if_any();
  if (options.seed) e.draft.seed = *options.seed;
  if (options.steps) e.draft.steps = *options.steps;
  if (e.draft.warm_up >= e.draft.steps)
    throw InputError(position_of(e, "simulation.warm_up"),
                     fmt::format("warm_up {} leaves none of {} steps to count; give at least {} steps", e.draft.warm_up,
                                 e.draft.steps, e.draft.warm_up + 1));
  return e;
}

namespace {

// The entries along a dotted path, as far as they exist.
std::vector<const Entry*> walk(const Node& root, const std::string& dotted_path) {
  std::vector<const Entry*> entries;
  const Node* node = &root;
  for (std::size_t begin = 0; begin <= dotted_path.size();) {
    const std::size_t end = std::min(dotted_path.find('.', begin), dotted_path.size());
    const std::string key = dotted_path.substr(begin, end - begin);
    const Entry* found = find_spelling(*node, key, kExperimentAliases);
    if (!found) break;
    entries.push_back(found);
    node = &found->value;
    begin = end + 1;
  }
  return entries;
}

} // namespace

SourceSpan position_of(const Experiment& experiment, const std::string& dotted_path) {
  const auto entries = walk(experiment.root, dotted_path);
  return entries.empty() ? experiment.root.where() : entries.back()->key.where();
}

std::optional<SourceSpan> position_inside(const Experiment& experiment, const std::string& dotted_path, int column) {
  const auto entries = walk(experiment.root, dotted_path);
  const auto depth = static_cast<std::size_t>(std::count(dotted_path.begin(), dotted_path.end(), '.') + 1);
  if (entries.size() != depth || column < 1) return std::nullopt;
  const Node& value = entries.back()->value;
  const std::size_t quotes = value.quoted ? 1 : 0;
  if (value.kind != NodeKind::scalar || value.length != value.text.size() + 2 * quotes) return std::nullopt;
  return value.source->span(value.offset + quotes + static_cast<std::size_t>(column - 1), 1);
}

} // namespace tessella
