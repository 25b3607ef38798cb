#include "sim/config/override.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>

#include "sim/config/input_limits.h"
#include "sim/config/message.h"

namespace tessella {
namespace {

using Path = std::vector<std::string>;

Path split_path(const std::string& text, const SourceSpan& where) {
  Path path;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    if (end == begin) throw InputError(where, fmt::format("{} has an empty part", in_quotes(text)));
    path.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (path.size() >= static_cast<std::size_t>(limit("max_depth")))
    throw InputError(where, fmt::format("nested deeper than the limit of {}", limit("max_depth")));
  return path;
}

Node& list_item(Node& list, const std::string& part, const SourceSpan& where) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (error != std::errc() || end != part.data() + part.size())
    throw InputError(where, fmt::format("{} is not an index into a list", in_quotes(part)));
  if (index >= list.items.size())
    throw InputError(where, fmt::format("index {} is past the end of a list of {} items", part, list.items.size()));
  return list.items[index];
}

// The entry under `part`, made when it is not there. Its key moves to the flag, so that messages name the flag.
Entry& map_entry(Node& map, const std::string& part, const std::shared_ptr<const Source>& flag) {
  if (map.kind == NodeKind::empty || map.kind == NodeKind::null) map.kind = NodeKind::map;
  if (map.kind != NodeKind::map)
    throw InputError(flag->span(0, 0),
                     fmt::format("{} is a value, not a map; it has no key {}", describe(map), in_quotes(part)));
  for (Entry& e : map.entries)
    if (e.key.text == part) return e;
  Entry e;
  e.key.kind = NodeKind::scalar;
  e.key.text = part;
  e.key.source = e.value.source = flag;
  map.entries.push_back(std::move(e));
  return map.entries.back();
}

// The referenced file an assignment is for; empty: the experiment.
std::string_view file_of(const std::string& assignment) {
  for (const std::string_view file : kReferencedFiles)
    if (assignment.starts_with(file) && assignment.size() > file.size() && assignment[file.size()] == '.') return file;
  return {};
}

// `skip` characters of the path name the file.
void assign(Node& root, const std::string& assignment, std::size_t skip) {
  const std::string name = "--set " + assignment;
  const SourceSpan where{name, 0, 0, 0, {}};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals <= skip) throw InputError(where, "expected key.key=value");
  const auto flag = std::make_shared<const Source>(Source::flag(name, assignment.substr(equals + 1)));
  Node* node = &root;
  Node* key = nullptr;
  for (const std::string& part : split_path(assignment.substr(skip, equals - skip), where)) {
    if (node->kind == NodeKind::list) {
      node = &list_item(*node, part, where);
      key = nullptr;
    } else {
      Entry& entry = map_entry(*node, part, flag);
      node = &entry.value;
      key = &entry.key;
    }
  }
  *node = parse_value(flag);
  if (key) key->source = flag;
}

} // namespace

void apply_overrides(Node& root, std::span<const std::string> assignments, std::string_view file) {
  for (const std::string& assignment : assignments)
    if (file_of(assignment) == file) assign(root, assignment, file.empty() ? 0 : file.size() + 1);
}

} // namespace tessella
