// Published times of single kernels, to hold our own against: a small CSV with columns op, dtype, dims, seconds,
// source.
#pragma once

#include <string>
#include <vector>

#include "calib/protocol/raw_table.h"

namespace tessella::calib {

struct ReferenceRow {
  OpShape shape;
  double seconds = 0.0;
  std::string source;
};

// Throws InputError with line and column.
std::vector<ReferenceRow> read_reference(const std::string& path);

struct ReferencePoint {
  ReferenceRow published;
  double measured = 0.0; // seconds, caches cold
};

struct ReferenceResult {
  std::vector<ReferencePoint> points;
  std::vector<std::string> missing; // published, but not among our rows
  double median_abs = 0.0;          // |measured / published - 1|
};

ReferenceResult compare_reference(const std::vector<ReferenceRow>& published, const std::vector<RawRow>& rows);
std::string to_text(const ReferenceResult& result);

} // namespace tessella::calib
