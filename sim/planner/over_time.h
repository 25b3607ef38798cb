// A job over time: events begin and end (domain/what_if_event.h), and the steps between two changes run one program
// (planner/phases.h).
//
// What stops the job (state of moved layers on its way, setting up a circuit) is charged to the first step of the
// phase. A bubble filler forgets its history at a change.
//
// With `replan` (domain/adaptation.h) the slowest stage's time of every step is compared with what the profile promised
// for the first step without events. After `patience` bad steps in a row layers move one by one while a simulated step
// under what now holds gets shorter (partition/refine.h); the pause is profiling, planning and the moved state.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/domain/scenario.h"
#include "sim/exec/loads.h"
#include "sim/exec/run.h"
#include "sim/ledger/result.h"
#include "sim/planner/overlap/overlap_list.h"
#include "sim/planner/phases.h"

namespace tessella {

// The whole job stands still for `d` before one of its steps.
void pause(RunRecords& records, std::size_t step, Duration d, Share share, std::int64_t ranks);

struct OverTime {
  RunRecords records; // of all phases
  std::vector<RunPhase> phases;
  std::vector<Replanning> replannings;
  MemoryReport memory;          // of the fullest phase
  std::optional<PairUse> pairs; // of the first phase
};
// `loads` may be null for a dense model. O(phases) lowerings, and the runs.
OverTime run_over_time(const Scenario& scenario, LoadSource* loads, const RunOptions& options, const AlignRule& align);

} // namespace tessella
