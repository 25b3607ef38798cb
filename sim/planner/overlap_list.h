// List schedulers of a pair: Tessera's Algorithm 1 (OSDI '26, section 3.2.1) and what it is compared with. Time runs
// forward; a lane that falls idle takes one of the tasks that are ready, and never waits for one that is not.
//
//   fifo         the task that became ready first
//   align        SELECT: backbone before movable; then gap-fit; then the longest tail
//   align_defer  the same with SHOULD_DEFER and BACKFILL for movable tasks
//
// The paper leaves three formulas open. Ours:
//   SELECT        The other lane is busy for another g: the task whose length is nearest to g, so that both lanes fall
//                 idle together. The other lane is idle: there is no gap to fit, and the task with the longest chain
//                 behind it goes first. Ties: ready first.
//   SHOULD_DEFER  A movable task of length w delays the task that waits for the exchange at hand (done in g) by w - g.
//                 It is deferred when the pair would then end later than the compute lane must be busy anyway:
//                 max(g, w) + tail of that task > compute work left. With compute work to spare it runs at once.
//   BACKFILL      A deferred task goes where the pair ends earliest, of equals into the tightest gap of the compute
//   lane,
//                 then the earliest; anywhere behind the task it follows. The lifetime of a gradient ends with the
//                 pair.
#pragma once

#include "sim/planner/overlap_timeline.h"

namespace tessella {

enum class ListRule { fifo, align, align_defer };

// O(tasks * ready tasks), and O(ops * tasks) per deferred task.
LaneOrders list_schedule(const PairProblem& problem, ListRule rule);

} // namespace tessella
