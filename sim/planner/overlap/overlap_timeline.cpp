#include "sim/planner/overlap/overlap_timeline.h"

#include <map>

#include "sim/base/check.h"

namespace tessella {
namespace {

class OrderRun {
 public:
  OrderRun(const PairProblem& problem, const LaneOrders& order) : problem_(problem), order_(order) {
    done_.resize(problem.tasks.size(), false);
    timeline_.start.resize(problem.tasks.size());
    timeline_.end.resize(problem.tasks.size());
  }

  PairTimeline run() {
    while (true) {
      for (std::size_t l = 0; l < 2; ++l) start_next(l);
      if (!work_[0].op && !work_[1].op) break;
      const bool both = work_[0].op && work_[1].op;
      const bool ep = work_[1].op != nullptr;
      const LaneStep step = advance(work_[0], work_[1]);
      now_ = now_ + step.elapsed;
      if (ep) timeline_.ep_busy += step.elapsed;
      if (both) timeline_.ep_hidden += step.elapsed;
      if (step.compute_ended) end_op(0);
      if (step.ep_ended) end_op(1);
    }
    for (std::size_t l = 0; l < 2; ++l) TSL_CHECK_OP(next_[l], ==, order_.lanes[l].size());
    timeline_.makespan = now_ - Time{};
    return std::move(timeline_);
  }

 private:
  void start_next(std::size_t l) {
    if (work_[l].op || next_[l] == order_.lanes[l].size()) return;
    const std::size_t task = order_.lanes[l][next_[l]];
    const auto after = problem_.tasks[task].after;
    if (after && !done_[*after]) return;
    ++next_[l];
    task_[l] = task;
    work_[l] = {problem_.ops[task].data(), problem_.ops[task].front().work};
    timeline_.start[task] = now_;
  }
  void end_op(std::size_t l) {
    const std::vector<TaskOp>& ops = problem_.ops[task_[l]];
    if (++work_[l].op != ops.data() + ops.size()) {
      work_[l].left = work_[l].op->work;
      return;
    }
    work_[l] = {};
    done_[task_[l]] = true;
    timeline_.end[task_[l]] = now_;
  }

  const PairProblem& problem_;
  const LaneOrders& order_;
  std::array<LaneWork, 2> work_;
  std::array<std::size_t, 2> task_{};
  std::array<std::size_t, 2> next_{};
  std::vector<bool> done_;
  Time now_;
  PairTimeline timeline_;
};

} // namespace

PairTimeline run_order(const PairProblem& problem, const LaneOrders& order) {
  return OrderRun(problem, order).run();
}

LaneOrders lane_orders(const PairProblem& problem, const PairPlan& plan) {
  std::map<TaskId, std::size_t> index;
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) index[problem.tasks[t].id] = t;
  LaneOrders order;
  for (const TaskId& id : plan.compute) order[OpLane::compute].push_back(index.at(id));
  for (const TaskId& id : plan.ep) order[OpLane::ep].push_back(index.at(id));
  return order;
}

PairPlan pair_plan(const PairProblem& problem, const LaneOrders& order) {
  PairPlan plan;
  plan.passes = problem.passes;
  for (const std::size_t t : order[OpLane::compute]) plan.compute.push_back(problem.tasks[t].id);
  for (const std::size_t t : order[OpLane::ep]) plan.ep.push_back(problem.tasks[t].id);
  return plan;
}

} // namespace tessella
