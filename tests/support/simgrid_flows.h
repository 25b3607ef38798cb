// Runs flows on SimGrid with the links and routes of our graph. All cases share one engine, on links of their own,
// because SimGrid has one engine per process.
#pragma once

#include <vector>

#include "sim/exec/flow_sim.h"

namespace tessella::testing {

struct SimgridCase {
  ClusterGraph graph;
  std::vector<Flow> flows; // single-path; each (from, to) may occur several times
};

// Seconds at which each flow of each case arrives.
std::vector<std::vector<double>> simgrid_arrivals(const std::vector<SimgridCase>& cases);

} // namespace tessella::testing
