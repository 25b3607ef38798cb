#include "sim/config/read_result.h"
#include "sim/config/file_role.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

#include "sim/config/experiment_keys.h"
#include "sim/config/input_limits.h"
#include "sim/config/node.h"
#include "sim/config/override.h"
#include "sim/config/source.h"

namespace tessella {
namespace {

using Json = nlohmann::ordered_json;

// What a file that is not JSON looks like.
std::string role_of(const std::string& text) {
  if (text.starts_with("SQLite format 3"))
    return "; it looks like a results database of tessella sweep (tessella sweep --csv lists it)";
  if (text.starts_with("<!doctype html") || text.starts_with("<html"))
    return "; it looks like a report (open it in a browser)";
  if (text.starts_with("\x1f\x8b")) return "; it is gzip-compressed, as traces are (open those at ui.perfetto.dev)";
  if (text.find("\nexperiment:") != std::string::npos || text.starts_with("experiment:"))
    return "; it looks like an experiment (tessella run)";
  return "; expected a result of tessella run --json, or an experiment.yaml";
}

// What a JSON file that is no result looks like, so that a user learns where it belongs.
std::string role_of(const Json& root) {
  if (!root.is_object()) return "";
  const auto has = [&](const char* key) { return root.contains(key); };
  if (has("traceEvents")) return "; it looks like a trace (open it at ui.perfetto.dev)";
  if (has("num_hidden_layers") || has("text_config"))
    return "; it looks like a model's config.json (tessella import hf)";
  if (has("objective_s")) return "; it looks like a plan of tessella plan";
  if (has("rows") && has("overall")) return "; it looks like a result of tessella validate";
  return "";
}

void flatten(const Json& node, const std::string& name, int depth, FlatResult& out) {
  if (depth > limit("max_depth")) throw InputError(out.name, "nested too deep for a result");
  if (node.is_object()) {
    for (const auto& [key, value] : node.items()) flatten(value, name.empty() ? key : name + "." + key, depth + 1, out);
  } else if (name.starts_with("plan.")) {
    out.settings.emplace_back(name, node.is_string() ? node.get<std::string>() : node.dump());
  } else if (node.is_number()) {
    out.numbers.emplace_back(name, node.get<double>());
  }
}

// An override may use another spelling of a key than the file: the later one counts.
void set_text(NamedTexts& out, const std::string& name, const std::string& text) {
  const auto at = std::find_if(out.begin(), out.end(), [&](const auto& value) { return value.first == name; });
  if (at == out.end())
    out.emplace_back(name, text);
  else
    at->second = text;
}

void flatten_settings(const Node& node, const std::string& name, NamedTexts& out) {
  if (node.kind == NodeKind::map) {
    for (const Entry& entry : node.entries) {
      const auto alias = std::find_if(kExperimentAliases.begin(), kExperimentAliases.end(),
                                      [&](const Alias& a) { return a.spelling == entry.key.text; });
      const std::string key = alias == kExperimentAliases.end() ? entry.key.text : std::string(alias->key);
      flatten_settings(entry.value, name.empty() ? key : name + "." + key, out);
    }
  } else if (node.kind == NodeKind::list) {
    for (std::size_t i = 0; i < node.items.size(); ++i)
      flatten_settings(node.items[i], fmt::format("{}.{}", name, i), out);
  } else if (node.kind == NodeKind::scalar) {
    set_text(out, name, node.text);
  }
}

} // namespace

FlatResult read_result_text(const std::string& name, const std::string& text) {
  require_role(name, text, FileRole::result);
  const Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded()) throw InputError(name, "is not JSON" + role_of(text));
  if (!root.is_object() || !root.contains("step_time_s") || !root.contains("ledger"))
    throw InputError(name, "is not a result of tessella run --json" + role_of(root));
  FlatResult out;
  out.name = name;
  for (const auto& [key, value] : root.items())
    if (key == "inputs") {
      for (const auto& [file, sha256] : value.items())
        out.inputs.emplace_back(file, sha256.is_string() ? sha256.get<std::string>() : sha256.dump());
    } else if (key != "sim") { // the cost of the simulation itself
      flatten(value, key, 1, out);
    }
  return out;
}

std::string read_result_file(const std::filesystem::path& file) {
  return read_file(file, limit("max_result_bytes"));
}

FlatResult read_result(const std::filesystem::path& file) {
  return read_result_text(display_path(file), read_result_file(file));
}

NamedTexts experiment_settings(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  Node root = parse_document(std::make_shared<const Source>(Source::file(display_path(file), read_file(file))));
  apply_overrides(root, overrides);
  NamedTexts out;
  flatten_settings(root, "", out);
  std::erase_if(out, [](const auto& value) { return value.first == "experiment" || value.first == "question"; });
  return out;
}

} // namespace tessella
