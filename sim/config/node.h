// A YAML document as a strict tree in which every node knows where it stands. yaml-cpp only tokenises; what it would
// let pass is refused here: duplicate keys, keys that are not plain text, anchors, aliases, merge keys, tags, several
// documents, depth and size without bound. Scalars stay text: their reading is in reader.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/source.h"

namespace tessella {

enum class NodeKind : std::uint8_t {
  empty, // a key with nothing after it
  null,  // `null` or `~`: as if the key were not there
  scalar,
  list,
  map,
};

struct Entry;

struct Node {
  NodeKind kind = NodeKind::empty;
  bool quoted = false; // in quotes, or a block scalar: text, never a number
  std::string text;    // of a scalar
  std::vector<Node> items;
  std::vector<Entry> entries; // of a map, in file order, keys unique

  // Where to point: a scalar at itself; a map, list or empty value at the key that holds it (the top: at its start).
  std::shared_ptr<const Source> source;
  std::size_t offset = 0;
  std::size_t length = 0; // bytes

  SourceSpan where() const { return source->span(offset, length); }
  const Entry* find(std::string_view key) const; // nullptr when absent; O(entries)
};

struct Entry {
  Node key; // a scalar
  Node value;
};

// `null` and its spellings.
bool is_null_text(std::string_view text);

// What a message calls a node: "a map", "a list", "'abc'", "nothing".
std::string describe(const Node& node);

// The one document of a source. O(text). Throws InputError for anything that is not a map at the top.
Node parse_document(std::shared_ptr<const Source> source);
// As above for a value of any kind (of a flag).
Node parse_value(std::shared_ptr<const Source> source);

} // namespace tessella
