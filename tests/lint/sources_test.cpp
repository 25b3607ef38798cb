// No number without a source: every model, topology and profile says where its numbers come from. Presence only; the
// readers in sim/config check the rest.
#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/lint/tree.h"

using namespace tessella::lint;

namespace {

// A source that says something: not empty, and more than a word such as "paper".
void check_source(const std::string& file, const std::string& where, const YAML::Node& node) {
  const std::string source = node["source"] ? node["source"].as<std::string>() : "";
  if (source.size() < 8) report(file, where + " has no `source:` that a reader could follow");
}

// Every map below `node` that holds a bandwidth is a link.
void check_links(const std::string& file, const std::string& where, const YAML::Node& node) {
  if (!node.IsMap()) return;
  if (node["bandwidth"]) check_source(file, where, node);
  for (const auto& entry : node) check_links(file, where + "." + entry.first.as<std::string>(), entry.second);
}

} // namespace

TEST_CASE("Every model has a source") {
  for (const std::string& file : files_in({"models"}, {".yaml"})) check_source(file, "the model", YAML::LoadFile(file));
}

TEST_CASE("Every topology and every link in it has a source") {
  for (const std::string& file : files_in({"topologies"}, {".yaml"})) {
    const YAML::Node topology = YAML::LoadFile(file);
    check_source(file, "the topology", topology);
    check_links(file, "topology", topology);
  }
}

TEST_CASE("Every profile entry has a source and a provenance") {
  const std::vector<std::string> known = {"measured", "published", "derived", "assumed"};
  for (const std::string& file : files_in({"calib/profiles"}, {"profile.yaml"})) {
    const YAML::Node profile = YAML::LoadFile(file);
    check_source(file, "gpu", profile["gpu"]);
    for (const auto& entry : profile["entries"]) {
      const std::string where = "the entry of line " + std::to_string(entry.Mark().line + 1);
      check_source(file, where, entry);
      const std::string provenance = entry["provenance"] ? entry["provenance"].as<std::string>() : "";
      if (std::find(known.begin(), known.end(), provenance) == known.end()) report(file, where + " has no provenance");
    }
  }
}
