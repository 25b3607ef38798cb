// Two views of a sweep, as points to draw: how a job scales, and what time costs in memory.
#pragma once

#include <span>
#include <vector>

#include "sim/store/result_row.h"

namespace tessella {

struct ViewPoint {
  double x = 0.0;
  double y = 0.0;
  bool best = false; // on the front, or the best of its x
  bool operator==(const ViewPoint&) const = default;
};

// MFU over the number of GPUs, of all rows that fit, by x then y. Best: the highest MFU of each number. O(n log n).
std::vector<ViewPoint> scaling_view(std::span<const ResultRow> rows);

// GPU-seconds per million tokens (rows differ in batch and world, so step times do not compare) over peak memory in
// GiB, of all rows that fit, by x then y. Best: no other row is as good in one and better in the other. O(n log n).
std::vector<ViewPoint> pareto_view(std::span<const ResultRow> rows);

} // namespace tessella
