// Runs the points of a sweep that a database lacks, on all threads, and commits them in batches: a kill loses at most
// the last batch, and the next run computes it again.
#pragma once

#include <cstdint>
#include <string>

#include "sim/cli/shard.h"
#include "sim/config/scenario_cache.h"
#include "sim/store/results_db.h"
#include "sim/store/sweep_points.h"

namespace tessella {

struct SweepJob {
  const SweepSpec& spec;
  const SweepPoints& points;
  const ScenarioCache& cache;
  Shard shard;
  unsigned threads = 1;
  std::string tool; // version; part of every key
};

struct SweepOutcome {
  std::vector<std::string> keys; // of this shard's points, each once, in point order
  std::int64_t found = 0;        // had a row already
  std::int64_t computed = 0;
  bool interrupted = false;
};

// A point that is illegal, does not fit or is not covered becomes a row with its reason. Rows do not depend on the
// number of threads.
SweepOutcome run_sweep(const SweepJob& job, ResultsDb& db);

} // namespace tessella
