#include "sim/planner/overlap/pair_problem.h"

#include "sim/base/check.h"

namespace tessella {

Duration PairProblem::alone(std::size_t task) const {
  Duration sum;
  for (const TaskOp& op : ops[task]) sum += op.work;
  return sum;
}

Duration PairProblem::serial() const {
  Duration sum;
  for (std::size_t t = 0; t < tasks.size(); ++t) sum += alone(t);
  return sum - slowed;
}

std::vector<std::size_t> PairProblem::chain(int half) const {
  std::vector<std::size_t> chain;
  for (std::size_t t = 0; t < tasks.size(); ++t)
    if (tasks[t].id.half == half && !tasks[t].movable) chain.push_back(t);
  return chain;
}

std::vector<std::size_t> PairProblem::lane(OpLane lane) const {
  std::vector<std::size_t> found;
  for (std::size_t t = 0; t < tasks.size(); ++t)
    if (tasks[t].lane == lane) found.push_back(t);
  return found;
}

PairProblem pair_problem(const PairTasks& pair) {
  PairProblem problem{pair.passes, pair.tasks, {}, {}};
  for (std::size_t t = 0; t < pair.tasks.size(); ++t) {
    TSL_CHECK(!pair.tasks[t].movable || pair.tasks[t].lane == OpLane::compute);
    TSL_CHECK(!pair.ops[t].empty());
    std::vector<TaskOp> ops;
    for (const Op& op : pair.ops[t]) {
      TSL_CHECK(op.work == WorkKind::fixed);
      const bool exchange = pair.tasks[t].lane == OpLane::ep;
      const Duration work = exchange ? op.beside_compute.span_for(op.duration) : op.duration;
      ops.push_back({work, op.beside_moving});
      problem.slowed += work - op.duration;
    }
    problem.ops.push_back(std::move(ops));
  }
  return problem;
}

} // namespace tessella
