#include "sim/planner/overlap/overlap_list.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/planner/overlap/best_order.h"

namespace tessella {
namespace {

Duration distance(Duration a, Duration b) {
  return max(a, b) - min(a, b);
}

Duration share_of(Duration d, double factor) {
  return {std::llround(static_cast<double>(d.ps) * factor)};
}

// How SELECT chooses among backbone tasks.
struct Reading {
  bool fits_gaps = true;
  bool holds_back = false;
};

class ListRun {
 public:
  ListRun(const PairProblem& problem, ListRule rule, const Reading& reading, const AlignRule& align)
      : problem_(problem), rule_(rule), reading_(reading), align_(align), followers_(problem.tasks.size()),
        tail_(problem.tasks.size()) {
    for (std::size_t t = problem.tasks.size(); t-- > 0;) {
      for (const std::size_t f : followers_[t]) tail_[t] = max(tail_[t], tail_[f]);
      tail_[t] += problem.alone(t);
      if (const auto after = problem.tasks[t].after)
        followers_[*after].push_back(t);
      else
        ready_.push_back({t, Time{}});
      if (problem.tasks[t].lane == OpLane::compute) compute_left_ += problem.alone(t);
    }
  }

  LaneOrders run() {
    while (true) {
      for (const OpLane lane : {OpLane::compute, OpLane::ep}) start_one(lane);
      if (!work_[0].op && !work_[1].op) break;
      const LaneStep step = advance(work_[0], work_[1]);
      now_ = now_ + step.elapsed;
      if (step.compute_ended) end_op(0);
      if (step.ep_ended) end_op(1);
    }
    for (auto t = deferred_.rbegin(); t != deferred_.rend(); ++t) backfill(*t);
    return std::move(order_);
  }

 private:
  struct Ready {
    std::size_t task;
    Time since;
  };

  // What is left of the task on a lane, without contention; 0 when it is idle.
  Duration left(std::size_t l) const {
    if (!work_[l].op) return {};
    const std::vector<TaskOp>& ops = problem_.ops[task_[l]];
    Duration sum = work_[l].left;
    for (const TaskOp* op = work_[l].op + 1; op < ops.data() + ops.size(); ++op) sum += op->work;
    return sum;
  }

  // The smaller, the better.
  using Score = std::tuple<bool, std::int64_t, std::int64_t, Time, std::size_t>;
  Score score(const Ready& r, Duration gap) const {
    if (rule_ == ListRule::fifo) return {false, 0, 0, r.since, r.task};
    const bool fits = reading_.fits_gaps && gap > Duration{};
    return {problem_.tasks[r.task].movable, fits ? distance(problem_.alone(r.task), gap).ps : 0, -tail_[r.task].ps,
            r.since, r.task};
  }

  void start_one(OpLane lane) {
    const auto l = static_cast<std::size_t>(lane);
    if (work_[l].op) return;
    const Duration gap = left(1 - l);
    const auto awaited = awaited_on(lane);
    while (true) {
      auto best = ready_.end();
      for (auto r = ready_.begin(); r != ready_.end(); ++r)
        if (problem_.tasks[r->task].lane == lane && !(awaited && gives_way(r->task, *awaited, gap)) &&
            (best == ready_.end() || score(*r, gap) < score(*best, gap)))
          best = r;
      if (best == ready_.end()) return;
      const std::size_t task = best->task;
      ready_.erase(best);
      if (!should_defer(task, gap)) return start(l, task);
      deferred_.push_back(task);
    }
  }

  // The backbone task that will need this lane when the other one is done.
  std::optional<std::size_t> awaited_on(OpLane lane) const {
    const auto other = 1 - static_cast<std::size_t>(lane);
    if (!reading_.holds_back || !work_[other].op) return std::nullopt;
    for (const std::size_t f : followers_[task_[other]])
      if (!problem_.tasks[f].movable && problem_.tasks[f].lane == lane) return f;
    return std::nullopt;
  }

  // Whether both chains would end earlier if the task went behind the one that is ready in `gap`.
  bool gives_way(std::size_t task, std::size_t awaited, Duration gap) const {
    if (problem_.tasks[task].movable) return false;
    const Duration first = max(tail_[task], max(gap, problem_.alone(task)) + tail_[awaited]);
    const Duration behind = gap + max(tail_[awaited], problem_.alone(awaited) + tail_[task]);
    return behind < first;
  }

  bool should_defer(std::size_t task, Duration gap) const {
    if (rule_ != ListRule::align_defer || !problem_.tasks[task].movable || !work_[1].op) return false;
    const Duration length = problem_.alone(task);
    if (length <= gap) return false; // done before anybody waits
    for (const std::size_t f : followers_[task_[1]])
      if (problem_.tasks[f].lane == OpLane::compute)
        return length + tail_[f] > share_of(compute_left_, align_.defer_above);
    return false; // the exchange is followed by another, or by nothing
  }

  void start(std::size_t l, std::size_t task) {
    task_[l] = task;
    work_[l] = {problem_.ops[task].data(), problem_.ops[task].front().work};
    order_.lanes[l].push_back(task);
    if (l == 0) compute_left_ -= problem_.alone(task);
  }

  void end_op(std::size_t l) {
    const std::vector<TaskOp>& ops = problem_.ops[task_[l]];
    if (++work_[l].op != ops.data() + ops.size()) {
      work_[l].left = work_[l].op->work;
      return;
    }
    work_[l] = {};
    for (auto f = followers_[task_[l]].rbegin(); f != followers_[task_[l]].rend(); ++f) ready_.push_back({*f, now_});
  }

  void backfill(std::size_t task) {
    std::vector<std::size_t>& lane = order_[OpLane::compute];
    const auto after = std::find(lane.begin(), lane.end(), *problem_.tasks[task].after);
    const PairTimeline now = run_order(problem_, order_);
    const auto first = static_cast<std::size_t>(after - lane.begin()) + 1;
    std::optional<std::tuple<Duration, Duration, std::size_t>> best; // makespan, misfit of the gap, place
    for (std::size_t place = first; place <= lane.size(); ++place) {
      LaneOrders with = order_;
      with[OpLane::compute].insert(with[OpLane::compute].begin() + static_cast<std::ptrdiff_t>(place), task);
      const Time until = place < lane.size() ? now.start[lane[place]] : Time{now.makespan.ps};
      const Duration gap = until - now.end[lane[place - 1]];
      const std::tuple candidate{run_order(problem_, with).makespan, distance(gap, problem_.alone(task)), place};
      if (!best || candidate < *best) best = candidate;
    }
    lane.insert(lane.begin() + static_cast<std::ptrdiff_t>(std::get<2>(*best)), task);
  }

  const PairProblem& problem_;
  ListRule rule_;
  Reading reading_;
  AlignRule align_;
  std::vector<std::vector<std::size_t>> followers_; // [task]
  std::vector<Duration> tail_;                      // [task] itself and the longest chain behind it
  std::vector<Ready> ready_;
  std::vector<std::size_t> deferred_;
  std::array<LaneWork, 2> work_; // by OpLane
  std::array<std::size_t, 2> task_{};
  Duration compute_left_; // not started
  Time now_;
  LaneOrders order_;
};

} // namespace

LaneOrders list_schedule(const PairProblem& problem, ListRule rule, const AlignRule& align) {
  if (rule == ListRule::fifo) return ListRun(problem, rule, {}, align).run();
  BestOrder best(problem);
  for (const bool fits_gaps : {true, false})
    for (const bool holds_back : {false, true}) {
      if (rule == ListRule::align_defer) best.offer(ListRun(problem, rule, {fits_gaps, holds_back}, align).run());
      best.offer(ListRun(problem, ListRule::align, {fits_gaps, holds_back}, align).run());
    }
  return best.order();
}

} // namespace tessella
