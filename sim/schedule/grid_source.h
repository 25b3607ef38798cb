// Where the cells of a schedule stand in the file they were read from, so that an error found in the order can point at
// its cell. Shared by the readers of text grids and of torch CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.h"
#include "sim/domain/schedule.h"

namespace tessella {

struct CellText {
  int line = 0; // line and column from 1
  int column = 0;
  int length = 0;
};

struct GridSource {
  std::string file;
  std::vector<std::string> lines;           // of the file, without line ends
  std::vector<std::vector<CellText>> cells; // [rank][slot]
  std::vector<int> row_line;                // [rank]

  SourceSpan span(const CellText& cell) const;
  SourceSpan whole_file() const { return {file, 0, 0, 0, {}}; }
};

// Lines without their ends (\n or \r\n); a final line end does not start another line.
std::vector<std::string> split_lines(std::string_view text);

// Completes a schedule of which name, lists and num_shadow_micro_batches are set: counts ranks, stages and
// micro-batches and finds the holders of each stage. Throws InputError if a number is absurd for the size of the file.
void count_and_place(Schedule& schedule, const GridSource& source);

// Throws InputError, placed by `source`, if validate() finds a problem.
void require_sound(const Schedule& schedule, const GridSource& source);

} // namespace tessella
