// From an experiment and the files it names to a scenario that is free of input errors.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/sha256.h"
#include "sim/config/experiment.h"
#include "sim/config/input_limits.h"
#include "sim/config/load_events.h"
#include "sim/config/order_yaml.h"
#include "sim/domain/legality.h"
#include "sim/domain/workload_shape.h"

namespace tessella {
namespace {

namespace fs = std::filesystem;
using Inputs = std::vector<std::pair<std::string, std::string>>;

std::string read_recorded(const fs::path& file, Inputs& inputs) {
  std::string text = read_file(file);
  inputs.emplace_back(display_path(file), sha256_hex(text));
  return text;
}

InputError loaded_from(const InputError& error, std::string_view what, SourceSpan where) {
  where.length = 0; // the error has the caret
  return error.with_note({where, fmt::format("{} loaded from here", what)});
}

// Loads what a reference stands for; its errors say who asked for it.
template <class T>
T load_reference(const Reference& reference, Catalog catalog, const char* what, const fs::path& directory,
                 const SearchPath& path, Inputs& inputs, Overrides overrides,
                 T (*load)(const std::string&, const std::string&, Overrides)) {
  const fs::path file = resolve(catalog, reference.text, directory, path, reference.where);
  try {
    return load(display_path(file), read_recorded(file, inputs), overrides);
  } catch (const InputError& error) {
    throw loaded_from(error, what, reference.where);
  }
}

// Errors inside the trace say who asked for it, as those of every other file.
void load_trace(Experiment& e, const fs::path& directory, Inputs& inputs) {
  RoutingSpec& routing = e.draft.routing;
  if (routing.kind != RoutingKind::trace) return;
  const fs::path file = directory / routing.trace_file;
  routing.trace_file = display_path(file);
  try {
    const std::string text = read_file(file, limit("max_trace_bytes"));
    routing.trace = load_trace_text(routing.trace_file, text);
    inputs.emplace_back(routing.trace_file, sha256_hex(text));
  } catch (const InputError& error) {
    throw loaded_from(error, "trace", position_of(e, "routing.trace_file"));
  }
}

// The order of schedule.file or --schedule FILE, in place of a generated one.
void load_schedule(Experiment& e, const fs::path& directory, const LoadOptions& options, Inputs& inputs) {
  if (!e.schedule_file && !options.schedule_file) return;
  const fs::path file = options.schedule_file ? *options.schedule_file : directory / e.schedule_file->text;
  const SourceSpan where = position_of(e, "schedule.file");
  if (!options.import_schedule) throw InputError(where, "schedules from files are not read here");
  ScheduleSpec& spec = e.draft.schedule;
  spec = {file.filename().string(), {}, false, spec.delay_wgrad_compute, display_path(file)};
  try {
    e.draft.imported = options.import_schedule(*spec.file, read_recorded(file, inputs), e.draft.warnings);
  } catch (const InputError& error) {
    if (options.schedule_file) throw;
    throw loaded_from(error, "schedule", where);
  }
}

void load_orders(Experiment& e, const fs::path& directory, Inputs& inputs) {
  if (!e.orders) return;
  const fs::path file = directory / e.orders->text;
  e.draft.overlap.source = display_path(file);
  try {
    e.draft.overlap.orders = load_pair_orders_text(e.draft.overlap.source, read_recorded(file, inputs));
  } catch (const InputError& error) {
    throw loaded_from(error, "orders", e.orders->where);
  }
}

void check_parts_fit(const Experiment& e, const Scenario& s) {
  if (s.cluster.gpu != s.profile.gpu.name)
    throw InputError(e.profile.where, fmt::format("the profile is for gpu '{}', the topology has '{}'",
                                                  s.profile.gpu.name, s.cluster.gpu));
  if (s.precision == Precision::fp8 && s.profile.gpu.fp8_peak.flops_per_second == 0.0)
    throw InputError(position_of(e, "precision"), fmt::format("gpu '{}' has no fp8_peak", s.profile.gpu.name));
}

SourceSpan violation_position(const Experiment& e, const Violation& violation) {
  if (violation.column)
    if (const auto inside = position_inside(e, violation.key, *violation.column)) return *inside;
  return position_of(e, violation.key);
}

// All violations in one error: the first is the message, what follows are notes, each behind its own hint.
InputError illegal(const Experiment& e, const std::vector<Violation>& violations,
                   const std::vector<std::string>& warnings) {
  std::vector<Note> notes;
  for (std::size_t i = 0; i < violations.size(); ++i) {
    const Violation& v = violations[i];
    if (i > 0) notes.push_back({violation_position(e, v), v.message});
    if (!v.suggestion.empty()) notes.push_back({std::nullopt, fmt::format("nearest legal plan: {}", v.suggestion)});
  }
  for (const std::string& warning : warnings) notes.push_back({std::nullopt, "warning: " + warning});
  return {violation_position(e, violations[0]), violations[0].message, notes};
}

// Ranks, rails, steps and layouts of the events against the job they happen to.
void check_events_fit(const Experiment& e, Scenario& s) {
  for (std::size_t i = 0; i < s.events.size(); ++i) {
    const SourceSpan& where = e.event_where[i];
    if (const auto problem = check_event(s.events[i], s)) throw InputError(where, *problem);
    auto* move = std::get_if<MoveLayers>(&s.events[i].what);
    if (!move) continue;
    LayoutSpec layout;
    layout.layout = move->layout;
    LegalityInput in{s.model, s.parallelism, s.batch, layout, s.schedule, s.recompute};
    in.dispatcher = s.dispatcher;
    Verdict verdict = check_legality(in);
    if (!verdict.legal()) throw InputError(where, verdict.violations[0].message);
    if (verdict.vpp != s.parallelism.vpp)
      throw InputError(where, fmt::format("the layout has {} stages per pipeline rank, the job runs {}", verdict.vpp,
                                          s.parallelism.vpp));
    move->partition = std::move(verdict.partition);
  }
}

// Experts that move need drawn routing and a rank with more than one place.
void check_migration_fits(const Experiment& e, const Scenario& s) {
  const ExpertMigrationSpec& x = s.expert_migration;
  if (x.method == MigrationMethod::none) return;
  const SourceSpan where = position_of(e, "expert_migration.method");
  if (!s.model.has_moe()) throw InputError(where, "the model has no experts");
  if (s.routing.kind != RoutingKind::generator)
    throw InputError(where, "experts move only where loads are drawn: routing of kind generator");
  if (s.parallelism.ep == 1) throw InputError(where, "with expert_model_parallel_size 1 there is nowhere to move to");
}

// A dense model has nothing to route; that it is routed evenly may be said.
void check_dense_routing(const Experiment& e, const Scenario& s) {
  if (s.routing == RoutingSpec{}) return;
  throw InputError(
      position_of(e, "routing"),
      fmt::format("model '{}' has no MoE layer to route; remove routing, or take a model with experts", s.model.name));
}

// Megatron-LM pads only where it copies tokens before the exchange.
void check_padding_fits(const Experiment& e, const Scenario& s) {
  if (!s.routing.pad_to_capacity || s.dispatcher == Dispatcher::alltoall || s.parallelism.ep == 1) return;
  throw InputError(
      position_of(e, "routing.pad_to_capacity"),
      fmt::format("token dispatcher {} does not pad; use token_dispatcher_type: alltoall", name(s.dispatcher)));
}

// Loads and traces against the plan.
void check_routing_fits(const Experiment& e, const Scenario& s) {
  if (moe_layers(s.model).empty()) return check_dense_routing(e, s);
  check_padding_fits(e, s);
  std::vector<Violation> violations;
  for (const RoutingProblem& p : check_routing(s.routing, workload_shape(s.model, s.parallelism, s.batch, s.steps)))
    violations.push_back({p.key, p.message, {}});
  if (!violations.empty()) throw illegal(e, violations, s.warnings);
}

} // namespace

Scenario assemble(const Experiment& e, Model model, Cluster cluster, Profile profile) {
  Scenario s = e.draft;
  s.model = std::move(model);
  s.cluster = std::move(cluster);
  s.profile = std::move(profile);
  check_parts_fit(e, s);
  s.parallelism.world_size = e.world_size.value_or(s.cluster.num_gpus());
  s.parallelism.vpp = e.vpp.value_or(1);
  s.parallelism.etp = e.etp.value_or(s.parallelism.tp);
  LegalityInput in{s.model, s.parallelism, s.batch, e.layout, s.schedule, s.recompute};
  in.cluster_gpus = s.cluster.num_gpus();
  in.etp_was_defaulted = !e.etp;
  in.dispatcher = s.dispatcher;
  Verdict verdict = check_legality(in);
  if (!verdict.legal()) throw illegal(e, verdict.violations, verdict.warnings);
  s.parallelism.vpp = verdict.vpp;
  s.partition = std::move(verdict.partition);
  s.warnings.insert(s.warnings.end(), verdict.warnings.begin(), verdict.warnings.end());
  check_routing_fits(e, s);
  check_events_fit(e, s);
  check_migration_fits(e, s);
  if (s.model.assumed)
    s.warnings.push_back(fmt::format("the dimensions of model '{}' are assumed: {}", s.model.name, s.model.source));
  return s;
}

Scenario load_scenario(const fs::path& file, const LoadOptions& options) {
  Inputs inputs;
  const std::string text = read_recorded(file, inputs);
  Experiment e = read_experiment(display_path(file), text, options);
  const fs::path directory = file.parent_path();
  const SearchPath path = search_path(directory, options.home);
  Model model =
      load_reference(e.model, Catalog::model, "model", directory, path, inputs, options.overrides, load_model_text);
  Cluster cluster = load_reference(e.topology, Catalog::topology, "cluster", directory, path, inputs, options.overrides,
                                   load_topology_text);
  Profile profile = load_reference(e.profile, Catalog::profile, "profile", directory, path, inputs, options.overrides,
                                   load_profile_text);
  load_trace(e, directory, inputs);
  load_schedule(e, directory, options, inputs);
  load_orders(e, directory, inputs);
  Scenario s = assemble(e, std::move(model), std::move(cluster), std::move(profile));
  if (options.more_rules)
    if (const auto violations = options.more_rules(s); !violations.empty()) throw illegal(e, violations, s.warnings);
  s.inputs = std::move(inputs);
  return s;
}

} // namespace tessella
