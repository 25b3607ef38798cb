// Two solvers on the partition problem of one experiment: how large it is, and what each proves how fast. Made by
// sim/planner/partition/solver_race.h, rendered by sim/report/plan_text.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"

namespace tessella {

struct SolverRun {
  std::string name; // threshold | cbc
  Duration bottleneck;
  Duration lower_bound;
  std::int64_t nodes = 0;
  double cpu_s = 0.0; // of one core, solving alone
  bool operator==(const SolverRun&) const = default;

  bool proven() const { return lower_bound == bottleneck; }
};

struct SolverRace {
  std::int32_t radius = 0;
  std::int64_t edges = 0;              // of the overlap graph
  std::int64_t fewest_candidates = 0;  // of a stage
  std::int64_t most_candidates = 0;    //
  std::int64_t equation_variables = 0; // of Tessera's equation (1) as written
  std::int64_t equation_pruned = 0;    // after the paper's pruning
  std::int64_t variables = 0;          // of the problem we solve: the same optimum with fewer
  std::int64_t variables_pruned = 0;   // after our pruning
  std::int64_t pairs_distinct = 0;     // chunk pairs that had to be priced
  double pricing_s = 0.0;              // all of them, one thread
  double pruning_s = 0.0;              //
  Duration baseline;                   // bottleneck of the serial-balanced partition
  std::vector<SolverRun> solvers;      // those that this build has and that found a solution
  bool operator==(const SolverRace&) const = default;
};

} // namespace tessella
