// List schedulers of a pair: Tessera's Algorithm 1 (OSDI '26, section 3.2.1) and what it is compared with. Time runs
// forward; a lane that falls idle takes one of the tasks that are ready.
//
//   fifo         the task that became ready first
//   align        SELECT
//   align_defer  the same with SHOULD_DEFER and BACKFILL for movable tasks
//
// The paper leaves formulas open. Ours, where g is how long the other lane is still busy, `length` what a task takes
// alone, and `tail` it and the longest chain behind it:
//
//   SELECT        Backbone before movable. Of several, the one whose length is nearest to g, so that both lanes fall
//                 idle together; when the other lane is idle there is no gap to fit, and the longest tail goes first.
//                 Ties: longest tail, ready first. A backbone task may also be held back for the one that is ready
//                 in g, when both chains would end earlier that way.
//   SHOULD_DEFER  A movable task delays the task that waits for the exchange at hand by length - g. It is deferred when
//                 the pair would then end later than the compute lane must be busy anyway: length + tail of that
//                 task > compute work left. With compute work to spare it runs at once.
//   BACKFILL      A deferred task goes where the pair ends earliest, of equals into the tightest gap of the compute
//                 lane, then the earliest; anywhere behind the task it follows. A gradient's lifetime ends with the
//                 pair.
//
// Which reading of SELECT serves best depends on whether compute or exchanges are scarce: fit first or tail first, with
// or without holding back. All four take microseconds, so align tries all and keeps the best order; align_defer tries
// them with and without deferring, so it is never worse than align.
#pragma once

#include "sim/planner/overlap/overlap_timeline.h"

namespace tessella {

enum class ListRule { fifo, align, align_defer };

// The constant in our reading of the rules.
struct AlignRule {
  double defer_above = 1.0; // SHOULD_DEFER: length + tail, in units of the compute work left
  bool operator==(const AlignRule&) const = default;
};

// O(tasks * ready tasks), and O(ops * tasks) per deferred task.
LaneOrders list_schedule(const PairProblem& problem, ListRule rule, const AlignRule& align = {});

} // namespace tessella
