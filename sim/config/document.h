// From a text to a value: parse, read, report all problems. The loaders of one kind share it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/config/node.h"
#include "sim/config/override.h"
#include "sim/config/reader.h"

namespace tessella {

// `read` is T(const Node& root, Problems&). `overrides` are those of a whole run; the ones for `kind` of file apply.
template <class T, class Read>
T read_document(const std::string& file_name, const std::string& text, const Read& read, std::string_view kind = {},
                std::span<const std::string> overrides = {}) {
  Node root = parse_document(std::make_shared<const Source>(Source::file(file_name, text)));
  apply_overrides(root, overrides, kind);
  Problems problems;
  T value = read(root, problems);
  problems.throw_if_any();
  return value;
}

} // namespace tessella
