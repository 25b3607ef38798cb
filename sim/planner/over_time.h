// A job over time: events begin and end (domain/what_if_event.h), and the steps between two changes run one program.
//
//   slow_gpu, slow_nic, slow_link, failed_rail   handicaps of ranks; how much a slower NIC or port costs is the ratio
//   of
//                                                two costings of the whole program, per kind of collective
//   jitter, move_layers                          another scenario
//   dense_circuit                                the gradient and parameter collectives of dense weights, costed at its
//                                                bandwidth
//   work_stealing                                expert ops are evened out inside a node; the toll is tokens out and
//                                                back and the weights, over the scale-up links, per time of the work
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

namespace tessella {

// Steps [first, first + count) to which the same events happen, in order of the events; all steps of the scenario.
struct Phase {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::vector<std::size_t> events; // indices into Scenario::events
  bool operator==(const Phase&) const = default;
};
std::vector<Phase> phases_of(const Scenario& scenario);

// How long the state of the layers that change their pipeline rank is on its way: all GPUs of a pipeline rank send and
// receive at once, each its share of weights and optimizer, through its NIC.
Duration move_time(const Scenario& scenario, const Partition& from, const Partition& to);

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
