// Runs a program: steps one after another, the replicas of a step on all threads, then the data-parallel phase.
// Results do not depend on the number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/exec/bubble_filler.h"
#include "sim/exec/loads.h"
#include "sim/exec/program.h"
#include "sim/exec/records.h"

namespace tessella {

struct RunOptions {
  std::int64_t first_step = 0;
  std::int64_t steps = 1;   // how many
  std::int64_t warm_up = 0; // steps before this one do not count
  std::uint64_t seed = 1;
  unsigned threads = 1;
  bool fold_identical_replicas = true;
  FillerOptions filler; // off by default, and then the run is that of the static plan, bit by bit
  TraceRequest trace;
  const std::atomic<bool>* stop = nullptr;                             // set from outside to end early
  std::function<bool(const std::vector<StepRecord>&)> enough;          // asked after each step; may be empty
  std::function<void(std::int64_t done, std::int64_t total)> progress; // steps; may be empty
};

// `loads` may be null when the program has no op that depends on loads. Replicas are provably identical, and one is
// simulated for all, when `loads_alike` says that every EP group receives the same loads and there is no jitter.
RunRecords run_program(const Program& program, LoadSource* loads, bool loads_alike, const RunOptions& options);

} // namespace tessella
