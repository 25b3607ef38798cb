// From an experiment and the files it names to a scenario that is free of input errors.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "sim/base/sha256.h"
#include "sim/config/experiment.h"
#include "sim/config/input_limits.h"
#include "sim/config/message.h"
#include "sim/domain/legality.h"

namespace tessella {
namespace {

namespace fs = std::filesystem;
using Inputs = std::vector<std::pair<std::string, std::string>>;

std::string read_recorded(const fs::path& file, Inputs& inputs) {
  std::string text = read_file(file);
  inputs.emplace_back(display_path(file), sha256_hex(text));
  return text;
}

// Loads what a reference stands for; its errors say who asked for it.
template <class T>
T load_reference(const Reference& reference, Catalog catalog, const char* what, const fs::path& directory,
                 const SearchPath& path, Inputs& inputs, T (*load)(const std::string&, const std::string&)) {
  const fs::path file = resolve(catalog, reference.text, directory, path, reference.where);
  try {
    return load(display_path(file), read_recorded(file, inputs));
  } catch (const InputError& error) {
    SourceSpan from = reference.where;
    from.length = 0;
    throw error.with_note({from, fmt::format("{} loaded from here", what)});
  }
}

// A trace may be far larger than a document: it is hashed, not kept.
void record_trace(Scenario& s, const fs::path& directory, const SourceSpan& where) {
  const fs::path file = directory / s.routing.trace_file;
  std::error_code error;
  std::ifstream in(file, std::ios::binary);
  if (!fs::is_regular_file(file, error) || !in)
    throw InputError(where, fmt::format("trace file {} cannot be read", in_quotes(display_path(file))));
  Sha256 hash;
  std::string buffer(1 << 16, '\0');
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0)
    hash.update(std::string_view(buffer).substr(0, static_cast<std::size_t>(in.gcount())));
  s.routing.trace_file = display_path(file);
  s.inputs.emplace_back(s.routing.trace_file, hash.hex());
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
  s.warnings = std::move(verdict.warnings);
  if (s.model.assumed)
    s.warnings.push_back(fmt::format("the dimensions of model '{}' are assumed: {}", s.model.name, s.model.source));
  return s;
}

Scenario load_scenario(const fs::path& file, const LoadOptions& options) {
  Inputs inputs;
  const std::string text = read_recorded(file, inputs);
  const Experiment e = read_experiment(display_path(file), text, options);
  const fs::path directory = file.parent_path();
  const SearchPath path = search_path(directory, options.home);
  Model model = load_reference(e.model, Catalog::model, "model", directory, path, inputs, load_model_text);
  Cluster cluster =
      load_reference(e.topology, Catalog::topology, "cluster", directory, path, inputs, load_topology_text);
  Profile profile = load_reference(e.profile, Catalog::profile, "profile", directory, path, inputs, load_profile_text);
  Scenario s = assemble(e, std::move(model), std::move(cluster), std::move(profile));
  if (options.more_rules)
    if (const auto violations = options.more_rules(s); !violations.empty()) throw illegal(e, violations, s.warnings);
  s.inputs = std::move(inputs);
  if (s.routing.kind == RoutingKind::trace) record_trace(s, directory, position_of(e, "routing.trace_file"));
  return s;
}

} // namespace tessella
