// What an importer understood, and what it left out: nothing is dropped in silence.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "calib/protocol/raw_table.h"

namespace tessella::calib {

struct Imported {
  std::vector<RawRow> rows;
  std::map<std::string, std::int64_t> dropped; // reason -> how many lines or entries
};

// One line per reason, "12 rows: in-place results"; "" when nothing was dropped.
std::string dropped_text(const std::map<std::string, std::int64_t>& dropped);

// Lines without their ends; the last may lack one.
std::vector<std::string_view> lines_of(std::string_view text);
// Words between blanks.
std::vector<std::string_view> words_of(std::string_view line);
// The number that follows `label` in `line` (blanks skipped), thousands separated by commas accepted; nothing when
// there is none.
bool number_after(std::string_view line, std::string_view label, double& value);
// The number that ends right before `unit`.
bool number_before(std::string_view line, std::string_view unit, double& value);

} // namespace tessella::calib
