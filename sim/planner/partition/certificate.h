// Lower bounds on the step time of any partition of a model under one schedule, and how far a plan is above them.
//
//   work       The slots of all ranks hold so much work, and some rank holds at least the mean. A single action takes
//              its whole chain; of a pair only one lane is charged, compute or exchange, whichever gives the larger
//              bound. Before the first slot of a rank the forwards of all stages below its lowest must have run, after
//              its last one the gradients still pass them: head and tail. With one stage per rank the bound is the
//              minimum over all partitions of the largest head + body + tail, by the plain dynamic programme; with
//              several chunks it is the mean over the ranks, with heads and tails of the embedding alone.
//   contention The mean of the compute lane again, with what the exchanges beside it must cost: they occupy their lane
//              for a time, and in that time compute is slowed at least as if only the least sensitive kernels ran, or
//              idle. All pairs share one pool of kernels, so no order of any pair can do better.
//   chain      One micro-batch forward through all stages and back.
//   last_stage The head (and MTP) cannot move: its slots.
// After the pipeline come the gradient norm, where all ranks meet, the optimizer over at least the mean of the
// parameters, and their gather unless the next forward hides it.
//
// Durations are alone on the GPU and at balanced load; a gap therefore contains load imbalance too.
// Memory is not a bound here. Sources: science/planning, section 7.
#pragma once

#include "sim/domain/plan_file.h"
#include "sim/domain/scenario.h"
#include "sim/domain/schedule.h"
#include "sim/planner/partition/layer_table.h"

namespace tessella {

// What runs after the pipeline whatever the partition.
struct StepTail {
  Duration norm_sync;
  Duration optimizer; // mean over the ranks; the fullest takes at least as long
  Duration gather;    // of parameters, where the next forward does not hide it; mean over the ranks

  Duration total() const { return norm_sync + optimizer + gather; }
};
StepTail step_tail(const Scenario& scenario, const Schedule& schedule);

Duration p2p_flight(const ModelOps& ops); // one message between neighbours

// `flight` is p2p_flight(). O(slots + stages * layers^2 for one stage per rank).
PlanCertificate certify(const Model& model, const Schedule& schedule, const LayerTable& table, Duration flight,
                        const StepTail& tail = {});
// The same with the bound of weighted_bound.h, which takes milliseconds more and is tighter with several chunks.
PlanCertificate certify(const Scenario& scenario, const Schedule& schedule, const ModelOps& ops,
                        const LayerTable& table);
// For a whole scenario; throws NotCovered when its profile lacks a cost.
PlanCertificate certify(const Scenario& scenario);

} // namespace tessella
