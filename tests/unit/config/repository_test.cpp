// The files this repository ships pass the strict readers, and their canonical text loads back equal.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/catalog.h"
#include "sim/config/dump.h"
#include "sim/config/experiment.h"
#include "sim/config/load.h"
#include "sim/config/source.h"

using namespace tessella;
namespace fs = std::filesystem;

namespace {

const SearchPath kHere = {"."};

template <class T>
void check_all(Catalog catalog, T (*load)(const fs::path&),
               T (*load_text)(const std::string&, const std::string&, Overrides)) {
  const auto names = available(catalog, kHere);
  if (names.empty()) MESSAGE("skipped: no files of this kind here");
  for (const std::string& name : names) {
    INFO(name);
    const T value = load(resolve(catalog, name, ".", kHere, SourceSpan{name, 0, 0, 0, {}}));
    CHECK(value.name == name);
    CHECK(load_text("dump.yaml", to_yaml(value), {}) == value);
  }
}

} // namespace

TEST_CASE("repository: every model") {
  check_all(Catalog::model, load_model, load_model_text);
}

TEST_CASE("repository: every topology") {
  check_all(Catalog::topology, load_topology, load_topology_text);
}

TEST_CASE("repository: every profile") {
  check_all(Catalog::profile, load_profile, load_profile_text);
}

TEST_CASE("repository: every experiment") {
  if (!fs::exists("experiments")) MESSAGE("skipped: no experiments here");
  std::vector<fs::path> files;
  if (fs::exists("experiments"))
    for (const auto& entry : fs::recursive_directory_iterator("experiments"))
      if (entry.path().filename() == "experiment.yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    INFO(file.string());
    CHECK_NOTHROW(read_experiment(file.string(), read_file(file)));
  }
}
