// As much of TOML as settings files use: [tables], keys with one-line values: whole and real numbers, texts in either
// quotes, booleans, and lists of these. Dates, inline tables, arrays of tables and multi-line texts are refused by
// name.
#pragma once

#include <string>
#include <vector>

#include "sim/base/error.h"

namespace tessella {

struct TomlEntry {
  std::string path;               // "parallelism.pipeline_parallel_degree"
  std::string text;               // a scalar, without quotes; a list as it is written
  std::vector<std::string> items; // of a list
  bool is_text = false;           // was in quotes
  SourceSpan where;               // of the value
};

// In file order. Errors: InputError with the position; a key that is given twice is one. O(length).
std::vector<TomlEntry> parse_toml(const std::string& file_name, const std::string& text);

} // namespace tessella
