// The JSON Schemas of sim/config/schemas against the readers: the same keys, both ways, and every file we ship is
// valid.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "sim/config/experiment_keys.h"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> kKinds = {"experiment", "model", "topology", "profile", "sweep", "baseline"};

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

json schema_of(const std::string& kind) {
  return json::parse(read("sim/config/schemas/" + kind + ".schema.json"));
}

// As editors see a YAML file: scalars without quotes are numbers, booleans or null where they look like it.
json to_json(const YAML::Node& node) {
  if (node.IsMap()) {
    json out = json::object();
    for (const auto& entry : node) out[entry.first.as<std::string>()] = to_json(entry.second);
    return out;
  }
  if (node.IsSequence()) {
    json out = json::array();
    for (const auto& item : node) out.push_back(to_json(item));
    return out;
  }
  if (!node.IsScalar()) return nullptr;
  const std::string text = node.Scalar();
  if (node.Tag() == "!" ||
      (text != "true" && text != "false" && text.find_first_not_of("+-.eE0123456789") != text.npos))
    return text;
  const json parsed = json::parse(text, nullptr, false);
  return parsed.is_discarded() ? json(text) : parsed;
}

bool is_type(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_number_integer();
  return value.is_number();
}

// As much of JSON Schema as ours use; the first thing that is wrong, or nothing.
std::string problem(const json& value, const json& schema, const json& root, const std::string& at);

std::string object_problem(const json& value, const json& schema, const json& root, const std::string& at) {
  for (const auto& key : schema.value("required", json::array()))
    if (!value.contains(key.get<std::string>())) return at + ": misses " + key.get<std::string>();
  for (const auto& [key, item] : value.items()) {
    const json properties = schema.value("properties", json::object());
    const json rest = schema.value("additionalProperties", json(true));
    if (!properties.contains(key) && rest == json(false)) return at + ": unknown key " + key;
    if (!properties.contains(key) && !rest.is_object()) continue;
    const std::string inside = problem(item, properties.contains(key) ? properties[key] : rest, root, at + "." + key);
    if (!inside.empty()) return inside;
  }
  return "";
}

std::string scalar_problem(const json& value, const json& schema, const std::string& at) {
  if (schema.contains("enum")) {
    const json& words = schema["enum"];
    if (std::find(words.begin(), words.end(), value) == words.end()) return at + ": is none of the words";
  }
  if (schema.contains("const") && value != schema["const"]) return at + ": is another constant";
  if (value.is_number() && schema.contains("minimum") && value.get<double>() < schema["minimum"].get<double>())
    return at + ": is too small";
  if (value.is_string() && schema.contains("pattern") &&
      !std::regex_search(value.get<std::string>(), std::regex(schema["pattern"].get<std::string>())))
    return at + ": has another pattern";
  return "";
}

std::string problem(const json& value, const json& schema, const json& root, const std::string& at) {
  if (schema.contains("$ref"))
    return problem(value, root.at(json::json_pointer(schema["$ref"].get<std::string>().substr(1))), root, at);
  if (schema.contains("anyOf")) {
    std::string first;
    for (const json& one : schema["anyOf"]) {
      const std::string why = problem(value, one, root, at);
      if (why.empty()) return "";
      if (first.empty()) first = why;
    }
    return first;
  }
  if (schema.contains("type")) {
    const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
    if (std::none_of(types.begin(), types.end(), [&](const json& t) { return is_type(value, t.get<std::string>()); }))
      return at + ": is no " + types.dump();
  }
  if (value.is_object()) return object_problem(value, schema, root, at);
  if (value.is_array() && schema.contains("items"))
    for (const json& item : value) {
      const std::string inside = problem(item, schema["items"], root, at + "[]");
      if (!inside.empty()) return inside;
    }
  return scalar_problem(value, schema, at);
}

std::string problem_of(const std::string& kind, const std::string& text) {
  const json schema = schema_of(kind);
  return problem(to_json(YAML::Load(text)), schema, schema, kind);
}

void collect_keys(const json& schema, std::set<std::string>& keys) {
  if (schema.is_object() && schema.contains("properties") && schema["properties"].is_object())
    for (const auto& [key, value] : schema["properties"].items()) keys.insert(key);
  for (const json& part : schema)
    if (part.is_structured()) collect_keys(part, keys);
}

// Keys that the reader of a kind asks for and does not refuse, from its source.
std::set<std::string> reader_keys(const std::string& kind) {
  std::string source = read("sim/config/load_" + kind + ".cpp");
  if (kind == "experiment") source += read("sim/config/load_events.cpp");
  // The baseline's source also reads expected files, which `regress` writes and people do not edit.
  if (kind == "baseline") {
    const std::size_t begin = source.find("NamedTexts read_texts(");
    REQUIRE(begin != std::string::npos);
    source = source.substr(0, begin);
  }
  std::set<std::string> keys;
  const std::regex asked(
      R"re((?:required|optional|find)\("([a-z_0-9]+)"|section\(map, "([a-z_0-9]+)"|Count\("([a-z_0-9]+)"|key == "([a-z_0-9]+)")re");
  for (std::sregex_iterator m(source.begin(), source.end(), asked), end; m != end; ++m)
    for (std::size_t g = 1; g < m->size(); ++g)
      if ((*m)[g].matched) keys.insert((*m)[g].str());
  return keys;
}

} // namespace

TEST_CASE("Schemas and readers know the same keys") {
  for (const std::string& kind : kKinds) {
    CAPTURE(kind);
    std::set<std::string> in_schema;
    collect_keys(schema_of(kind), in_schema);
    std::set<std::string> in_reader = reader_keys(kind);
    REQUIRE(in_reader.size() >= 10);
    if (kind == "experiment")
      for (const tessella::Alias& alias : tessella::kExperimentAliases)
        if (in_reader.contains(std::string(alias.key))) in_reader.emplace(alias.spelling);
    for (const std::string& key : in_reader)
      CHECK_MESSAGE(in_schema.contains(key), key << " is in no object of the schema");
    for (const std::string& key : in_schema)
      CHECK_MESSAGE(in_reader.contains(key), key << " is asked for by no reader");
  }
}

TEST_CASE("Every file we ship is valid under its schema") {
  int files = 0;
  const auto check = [&](const std::string& kind, const fs::path& file) {
    CHECK_MESSAGE(problem_of(kind, read(file)) == "", file.string());
    ++files;
  };
  for (const auto& [kind, folder] : {std::pair("model", "models"), {"topology", "topologies"}})
    for (const auto& file : fs::directory_iterator(folder))
      if (file.path().extension() == ".yaml") check(kind, file.path());
  for (const auto& file : fs::recursive_directory_iterator("calib/profiles"))
    if (file.path().filename() == "profile.yaml") check("profile", file.path());
  for (const auto& folder : fs::directory_iterator("experiments")) {
    if (fs::exists(folder.path() / "experiment.yaml")) check("experiment", folder.path() / "experiment.yaml");
    if (fs::exists(folder.path() / "baseline.yaml")) check("baseline", folder.path() / "baseline.yaml");
  }
  CHECK(files > 70);
}

TEST_CASE("A schema catches what a reader would refuse") {
  const std::string good = "experiment: e\nmodel: toy\ncluster: {topology: ideal, profile: p}\n"
                           "batch: {mbs: 1, gbs: 8, seq: 512}\n";
  CHECK(problem_of("experiment", good) == "");
  CHECK(problem_of("experiment", good + "paralelism: {tp: 1}\n") == "experiment: unknown key paralelism");
  CHECK(problem_of("experiment", good + "parallelism: {tp: 0}\n") == "experiment.parallelism.tp: is too small");
  CHECK(problem_of("experiment", good + "precision: fp32\n") == "experiment.precision: is none of the words");
  CHECK(problem_of("experiment", "experiment: e\n") == "experiment: misses model");
  CHECK(problem_of("sweep", "sweep: s\nexperiment: e\ngrid: {seed: {from: 1, to: 9}, x: [1], y: {min: 1, max: 2.5}}\n"
                            "sample: {method: random, points: 9}\n") == "");
  CHECK(problem_of("sweep", "sweep: s\nexperiment: e\ngrid: {seed: {from: 1}}\n") != "");
  CHECK(problem_of("model", "model: m\nsource: s\nhidden_size: 1\nvocab_size: 1\nkinds: {}\nlayers:\n"
                            "  - {layers: [{kind: a}], repeat: 2}\n  - {kind: a, times: 2}\n") ==
        "model.layers[]: unknown key times");
}
