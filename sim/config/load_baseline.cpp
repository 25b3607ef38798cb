#include "sim/config/load_baseline.h"
#include "sim/config/file_role.h"

#include <fmt/format.h>

#include <memory>

#include "sim/base/error.h"
#include "sim/config/flow_map.h"
#include "sim/config/node.h"
#include "sim/config/override_map.h"
#include "sim/config/reader.h"
#include "sim/config/source.h"

namespace tessella {
namespace {

template <class Read>
auto read_text_document(const std::string& file_name, const std::string& text, const Read& read) {
  const Node root = parse_document(std::make_shared<const Source>(Source::file(file_name, text)));
  Problems problems;
  auto value = read(root, problems);
  problems.throw_if_any();
  return value;
}

BaselineEntry read_entry(const Node& node, Problems& problems) {
  BaselineEntry entry;
  MapReader map(node, problems, "an experiment of the baseline");
  map.required("name", entry.name, read_name);
  map.required("experiment", entry.experiment, read_text);
  map.optional("set", entry.overrides, read_overrides);
  map.optional("plan", entry.plan, read_bool);
  map.done();
  if (entry.name.find('/') != std::string::npos || entry.name.starts_with("."))
    map.problem("name", "name names a file and cannot hold / or begin with a dot");
  return entry;
}

Tolerance read_tolerance(const Node& node, Problems& problems) {
  Tolerance t;
  MapReader map(node, problems, "a tolerance");
  map.required("of", t.of, read_name);
  map.optional("relative", t.relative, read_fraction);
  map.optional("absolute", t.absolute, Number{"absolute", 0.0, kMaxPlain});
  map.required("reason", t.reason, read_text);
  map.done();
  return t;
}

Baseline read_baseline(const Node& root, Problems& problems) {
  Baseline b;
  MapReader map(root, problems, "the baseline");
  map.required("baseline", b.name, read_name);
  map.required("experiments", b.entries, [&](const Node& n) {
    return read_list<BaselineEntry>(n, problems, [&](const Node& item) { return read_entry(item, problems); });
  });
  map.optional("tolerances", b.tolerances, [&](const Node& n) {
    return read_list<Tolerance>(n, problems, [&](const Node& item) { return read_tolerance(item, problems); });
  });
  map.done();
  for (std::size_t i = 0; i < b.entries.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (b.entries[i].name == b.entries[j].name)
        map.problem("experiments", fmt::format("two experiments are named '{}'", b.entries[i].name));
  return b;
}

NamedTexts read_texts(const Node& node) {
  NamedTexts out;
  if (node.kind != NodeKind::map) throw InputError(node.where(), "expected a map of names to texts");
  for (const Entry& entry : node.entries) out.emplace_back(entry.key.text, entry.value.text);
  return out;
}

NamedNumbers read_numbers(const Node& node) {
  NamedNumbers out;
  if (node.kind != NodeKind::map) throw InputError(node.where(), "expected a map of names to numbers");
  for (const Entry& entry : node.entries) out.emplace_back(entry.key.text, Number{"a value", -1e30, 1e30}(entry.value));
  return out;
}

ArtefactValues read_artefact(const Node& node, Problems& problems) {
  ArtefactValues values;
  MapReader map(node, problems, "an artefact");
  map.optional("texts", values.texts, read_texts);
  map.optional("numbers", values.numbers, read_numbers);
  map.done();
  return values;
}

Snapshot read_expected(const Node& root, Problems& problems) {
  Snapshot s;
  MapReader map(root, problems, "the expected result");
  map.required("expected", s.name, read_name);
  map.required("tool", s.tool, read_text);
  map.required("note", s.note, read_text);
  map.optional("inputs", s.inputs, read_texts);
  map.optional("settings", s.settings, read_texts);
  for (int a = 0; a < kNumArtefacts; ++a) {
    const auto artefact = static_cast<Artefact>(a);
    map.optional(name(artefact), s[artefact], [&](const Node& n) { return read_artefact(n, problems); });
  }
  map.done();
  return s;
}

std::string texts_block(const std::string& key, const NamedTexts& texts, const std::string& indent) {
  if (texts.empty()) return "";
  std::string out = fmt::format("{}{}:\n", indent, key);
  for (const auto& [name, text] : texts) out += fmt::format("{}  {}: {}\n", indent, quote_yaml(name), quote_yaml(text));
  return out;
}

std::string numbers_block(const NamedNumbers& numbers) {
  if (numbers.empty()) return "";
  std::string out = "  numbers:\n";
  for (const auto& [name, number] : numbers) out += fmt::format("    {}: {}\n", quote_yaml(name), number);
  return out;
}

} // namespace

Baseline load_baseline_text(const std::string& file_name, const std::string& text) {
  require_role(file_name, text, FileRole::baseline);
  auto baseline = read_text_document(file_name, text, read_baseline);
  for (BaselineEntry& entry : baseline.entries)
    entry.experiment = (std::filesystem::path(file_name).parent_path() / entry.experiment).lexically_normal().string();
  return baseline;
}

Baseline load_baseline(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_regular_file(folder, error))
    throw InputError(display_path(folder), "is a file; a baseline is a folder with a baseline.yaml in it");
  const std::filesystem::path file = folder / "baseline.yaml";
  return load_baseline_text(display_path(file), read_file(file));
}

std::filesystem::path expected_file(const std::filesystem::path& folder, const std::string& entry) {
  return folder / "expected" / (entry + ".yaml");
}

std::optional<Snapshot> load_expected(const std::filesystem::path& folder, const std::string& entry) {
  const std::filesystem::path file = expected_file(folder, entry);
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  return load_expected_text(display_path(file), read_file(file));
}

Snapshot load_expected_text(const std::string& file_name, const std::string& text) {
  require_role(file_name, text, FileRole::expected);
  return read_text_document(file_name, text, read_expected);
}

std::string to_yaml(const Snapshot& s) {
  std::string out = "# Written by tessella regress --accept; do not edit.\n";
  out += fmt::format("expected: {}\ntool: {}\nnote: {}\n", s.name, quote_yaml(s.tool), quote_yaml(s.note));
  out += texts_block("inputs", s.inputs, "") + texts_block("settings", s.settings, "");
  for (int a = 0; a < kNumArtefacts; ++a) {
    const ArtefactValues& values = s.artefacts[static_cast<std::size_t>(a)];
    if (values == ArtefactValues{}) continue;
    out += fmt::format("{}:\n", name(static_cast<Artefact>(a)));
    out += texts_block("texts", values.texts, "  ") + numbers_block(values.numbers);
  }
  return out;
}

} // namespace tessella
