// One pair of chunks in full, for `tessella pair` and `tessella plan --pair`.
#pragma once

#include <cstdint>
#include <string>

#include "sim/cli/experiment.h"
#include "sim/planner/overlap/overlap.h"

namespace tessella {

struct PairFlags {
  ExperimentFlags experiment;
  std::string pair;   // F:3,B:7 or (3F1;7B0)
  std::string method; // empty: the experiment's overlap scheduler
  std::string order;
  std::string save_order;
  std::int64_t nodes = SearchLimits{}.nodes;
  bool tasks = false;
};

// Prints both chunks, what each method makes of them, and the timeline of the chosen order. Returns the exit code.
int show_pair(const PairFlags& flags);

} // namespace tessella
