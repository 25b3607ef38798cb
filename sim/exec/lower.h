// Scenario + schedule -> Program. Four passes, each readable alone:
//   segments    a stage as a list of pieces (embedding, layers, MTP, head) with their op chains
//   templates   F: forward chains in order; B: backward and weight-gradient chains, last piece first; I and W: its
//   parts
//   pairs       for each (F stage, B stage) the schedule co-schedules: an overlapped template (pair_order.h), in the
//   order
//               of its plan, else in Megatron's
//   positions   what the data-parallel phase costs each pipeline position
// O(stages * layers per stage * ops), plus the distinct pairs.
#pragma once

#include "sim/cost/layer_ops.h"
#include "sim/domain/pair_plan.h"
#include "sim/domain/scenario.h"
#include "sim/domain/schedule.h"
#include "sim/exec/program.h"

namespace tessella {

// Each plan must be one of its pair's tasks (order_problem); plans of pairs that the schedule does not have are unused.
Program lower(const Scenario& scenario, const Schedule& schedule, const ModelOps& ops, const PairPlans& plans = {});

// For profiles of form uniform_stage: a stage's forward and backward are two numbers, whatever the model. The entry's
// times are those of a whole pipeline rank's share; a chunk takes 1/VPP of them.
Program lower_uniform(const Scenario& scenario, const Schedule& schedule);

// True when the profile is made of one uniform_stage entry.
bool is_uniform(const Profile& profile);

} // namespace tessella
