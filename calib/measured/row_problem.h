// A measured row as a sample of a fit: what its form predicts for its shape.
#pragma once

#include <string>
#include <vector>

#include "calib/fit/least_squares.h"
#include "calib/protocol/raw_table.h"

namespace tessella::calib {

// Seconds that an entry predicts for a row of its op.
double predicted_seconds(const ProfileEntry& entry, const RawRow& row, Bandwidth link);

// Samples of rows of one op; `start` has the form, `free` is left to the caller.
FitProblem row_problem(const std::vector<const RawRow*>& rows, const ProfileEntry& start, Bandwidth link);

} // namespace tessella::calib
