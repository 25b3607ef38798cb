// A pair of actions as the overlap schedulers see it: tasks (sim/exec/pair_tasks.h) with their work at balanced load
// and how an exchange beside them slows them. It is what sim/exec would run, so costs agree with it to the picosecond.
//
//   chain of the first action    t0 > t1 > t2 > ...     each task on the compute lane or on the ep lane
//   chain of the second          u0 > u1 > u2 > ...
//   movable tasks                follow one compute task of a chain, run on the compute lane, and nothing follows them
//
// The two lanes run their tasks in order, each as early as it can. While the ep lane is busy, compute proceeds at the
// pace of the op at hand. What compute costs an exchange is part of its work already (pair_tasks.h).
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "sim/domain/pair_plan.h"
#include "sim/exec/pair_tasks.h"

namespace tessella {

// One op of a task.
struct TaskOp {
  Duration work; // with no neighbour; of an exchange: beside compute
  Pace beside;   // while the ep lane moves data
  bool operator==(const TaskOp&) const = default;
};

struct PairProblem {
  PairPasses passes{ActionKind::F, ActionKind::B};
  std::vector<PairTask> tasks;
  std::vector<std::vector<TaskOp>> ops; // [task], none of them empty
  Duration slowed;                      // what compute costs the exchanges, all together
  bool operator==(const PairProblem&) const = default;

  Duration alone(std::size_t task) const;           // the sum of its work
  Duration serial() const;                          // all tasks one after another, none slowed
  std::vector<std::size_t> chain(int half) const;   // tasks of an action that are not movable, in order
  std::vector<std::size_t> lane(OpLane lane) const; // tasks of a lane
};

// The ops must have fixed durations (sim/planner/overlap/pair_chunks.h takes them at balanced load).
PairProblem pair_problem(const PairTasks& tasks);

// One lane at work on one op; without an op the lane is idle.
struct LaneWork {
  const TaskOp* op = nullptr;
  Duration left;
};

// Lets both lanes run until one of them ends its op. At least one must be at work.
struct LaneStep {
  Duration elapsed;
  bool compute_ended = false;
  bool ep_ended = false;
};
inline LaneStep advance(LaneWork& compute, LaneWork& ep) {
  const Pace pace = compute.op && ep.op ? compute.op->beside : Pace{};
  const Duration to_compute_end = compute.op ? pace.span_for(compute.left) : Duration::max();
  const Duration to_ep_end = ep.op ? ep.left : Duration::max();
  LaneStep step{min(to_compute_end, to_ep_end), to_compute_end <= to_ep_end, to_ep_end <= to_compute_end};
  if (compute.op) compute.left = step.compute_ended ? Duration{} : compute.left - pace.work_in(step.elapsed);
  if (ep.op) ep.left -= step.elapsed;
  return step;
}

} // namespace tessella
