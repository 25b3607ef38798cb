// Comma-separated values (RFC 4180): quoted fields may hold commas, doubled quotes and line ends. Blank lines are
// skipped. Every error names the line.
#pragma once

#include <string>
#include <vector>

#include "sim/config/source.h"

namespace tessella {

struct CsvRow {
  int line = 0; // of its first character, from 1
  std::vector<std::string> fields;
};

struct CsvTable {
  std::vector<std::string> columns; // of the header
  std::vector<CsvRow> rows;         // each with as many fields as there are columns
};

// InputError for an empty text, a column named twice, an open quote, or a row of another width. O(characters).
CsvTable read_csv(const Source& source);

// A whole-line error.
SourceSpan csv_line(const Source& source, int line);

} // namespace tessella
