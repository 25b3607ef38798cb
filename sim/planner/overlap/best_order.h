// The shortest of the orders of a pair that schedulers offer; of equals the first.
#pragma once

#include <utility>

#include "sim/planner/overlap/overlap_timeline.h"

namespace tessella {

class BestOrder {
 public:
  // `problem` must outlive it.
  explicit BestOrder(const PairProblem& problem) : problem_(problem) {}

  // O(tasks), as run_order. The order must have no problem.
  void offer(LaneOrders order) {
    const Duration candidate = run_order(problem_, order).makespan;
    if (candidate >= makespan_) return;
    makespan_ = candidate;
    order_ = std::move(order);
  }
  const LaneOrders& order() const { return order_; } // empty lanes before the first offer
  Duration makespan() const { return makespan_; }

 private:
  const PairProblem& problem_;
  LaneOrders order_;
  Duration makespan_ = Duration::max();
};

} // namespace tessella
