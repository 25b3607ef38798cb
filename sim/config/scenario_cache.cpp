#include "sim/config/scenario_cache.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "sim/base/error.h"
#include "sim/base/sha256.h"
#include "sim/config/source.h"

namespace tessella {
namespace {

// Overrides that can change which files are read.
bool may_change_files(const std::string& override_text) {
  return override_text.starts_with("model=") || override_text.starts_with("cluster") ||
         override_text.starts_with("routing") || override_text.starts_with("schedule");
}

// Overrides that reach into a file (--set model.vocab_size=...): such a file is another one for every scenario.
bool reaches_into_file(const std::string& override_text) {
  return override_text.starts_with("model.") || override_text.starts_with("topology.") ||
         override_text.starts_with("profile.");
}

// A trace may be far larger than a document.
std::string sha256_of_stream(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  Sha256 hash;
  std::string buffer(1 << 16, '\0');
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0)
    hash.update(std::string_view(buffer).substr(0, static_cast<std::size_t>(in.gcount())));
  return hash.hex();
}

} // namespace

ScenarioCache::ScenarioCache(const std::filesystem::path& experiment, LoadOptions options)
    : file_(experiment), text_(read_file(experiment)), sha256_(sha256_hex(text_)), options_(std::move(options)),
      path_(search_path(experiment.parent_path(), options_.home)) {}

LoadOptions ScenarioCache::with(const std::vector<std::string>& overrides) const {
  LoadOptions options = options_;
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  return options;
}

template <class T>
std::shared_ptr<const ScenarioCache::Parsed<T>> ScenarioCache::get(Files<T>& files, const Reference& reference,
                                                                   Catalog catalog,
                                                                   T (*read)(const std::filesystem::path&)) const {
  const std::filesystem::path file = resolve(catalog, reference.text, file_.parent_path(), path_, reference.where);
  const std::lock_guard lock(mutex_);
  auto& parsed = files[file];
  if (!parsed) parsed = std::make_shared<const Parsed<T>>(Parsed<T>{sha256_hex(read_file(file)), read(file)});
  return parsed;
}

Scenario ScenarioCache::load(const std::vector<std::string>& overrides) const {
  const LoadOptions options = with(overrides);
  if (std::any_of(options.overrides.begin(), options.overrides.end(), reaches_into_file))
    return load_scenario(file_, options);
  const Experiment e = read_experiment(display_path(file_), text_, options);
  if (e.draft.routing.kind == RoutingKind::trace || e.schedule_file || e.orders) return load_scenario(file_, options);
  const auto model = get(models_, e.model, Catalog::model, load_model);
  const auto cluster = get(topologies_, e.topology, Catalog::topology, load_topology);
  const auto profile = get(profiles_, e.profile, Catalog::profile, load_profile);
  Scenario s = assemble(e, model->value, cluster->value, profile->value);
  if (!options.more_rules) return s;
  const std::vector<Violation> violations = options.more_rules(s);
  if (!violations.empty()) throw InputError(position_of(e, violations[0].key), violations[0].message);
  return s;
}

std::string ScenarioCache::digest_of_references(const std::vector<std::string>& overrides) const {
  std::string out;
  try {
    const Experiment e = read_experiment(display_path(file_), text_, with(overrides));
    out += get(models_, e.model, Catalog::model, load_model)->sha256;
    out += get(topologies_, e.topology, Catalog::topology, load_topology)->sha256;
    out += get(profiles_, e.profile, Catalog::profile, load_profile)->sha256;
    if (e.draft.routing.kind == RoutingKind::trace)
      out += sha256_of_stream(file_.parent_path() / e.draft.routing.trace_file);
    for (const std::optional<Reference>* file : {&e.schedule_file, &e.orders})
      if (*file) out += sha256_of_stream(file_.parent_path() / (*file)->text);
  } catch (const InputError&) { // the scenario is wrong; its overrides alone tell it apart
  }
  return out;
}

std::string ScenarioCache::digest(const std::vector<std::string>& overrides) const {
  std::vector<std::string> relevant;
  std::copy_if(overrides.begin(), overrides.end(), std::back_inserter(relevant), may_change_files);
  std::unique_lock lock(mutex_);
  const auto known = references_.find(relevant);
  std::string files = known == references_.end() ? std::string() : known->second;
  const bool missing = known == references_.end();
  lock.unlock();
  if (missing) {
    files = digest_of_references(relevant);
    lock.lock();
    references_[relevant] = files;
    lock.unlock();
  }
  Sha256 hash;
  hash.update(sha256_ + files);
  for (const auto* list : {&options_.overrides, &overrides})
    for (const std::string& text : *list) hash.update("\n" + text);
  return hash.hex();
}

} // namespace tessella
