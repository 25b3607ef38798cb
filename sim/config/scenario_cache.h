// Many scenarios from one experiment: only overrides change, so each file is read, parsed and hashed once. Safe to use
// from several threads; files that change while it lives are not read again. Scenarios that change a file's content by
// an override, route by a trace, or take a schedule or orders from a file are loaded afresh.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/config/experiment.h"
#include "sim/config/load.h"

namespace tessella {

class ScenarioCache {
 public:
  // options.overrides come before those of a scenario. Throws InputError when the experiment cannot be read.
  ScenarioCache(const std::filesystem::path& experiment, LoadOptions options);

  // As load_scenario() with these overrides; `inputs` stays empty.
  Scenario load(const std::vector<std::string>& overrides) const;
  // SHA-256 of everything a scenario's answer depends on but the program: the text of the experiment and of the files
  // it refers to, and the overrides in their order. Needs no legal scenario: what cannot be read counts as absent.
  std::string digest(const std::vector<std::string>& overrides) const;

 private:
  template <class T>
  struct Parsed {
    std::string sha256;
    T value;
  };
  template <class T>
  using Files = std::map<std::filesystem::path, std::shared_ptr<const Parsed<T>>>;

  LoadOptions with(const std::vector<std::string>& overrides) const;
  template <class T>
  std::shared_ptr<const Parsed<T>> get(Files<T>& files, const Reference& reference, Catalog catalog,
                                       T (*read)(const std::filesystem::path&)) const;
  std::string digest_of_references(const std::vector<std::string>& overrides) const;

  std::filesystem::path file_;
  std::string text_;
  std::string sha256_;
  LoadOptions options_;
  SearchPath path_;
  mutable std::mutex mutex_;
  mutable Files<Model> models_;
  mutable Files<Cluster> topologies_;
  mutable Files<Profile> profiles_;
  mutable std::map<std::vector<std::string>, std::string> references_; // of the overrides that can change them
};

} // namespace tessella
