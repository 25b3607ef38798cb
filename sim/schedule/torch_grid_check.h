// From the cells of a torch CSV to a checked schedule: the computation by validate(), the communication by its own
// rules.
#pragma once

#include "sim/schedule/grid_source.h"
#include "sim/schedule/torch_csv.h"

namespace tessella {

struct PositionedGrid {
  TorchGrid grid;
  GridSource source; // its cells are those of the grid, idle and communication included
};

// Throws InputError at the first offending cell.
Schedule check_torch_grid(const PositionedGrid& positioned, const std::string& name);

} // namespace tessella
