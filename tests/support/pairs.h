// Pairs of chunks for tests of the overlap schedulers: written down task by task, or drawn at random.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/rng.h"
#include "sim/planner/overlap/overlap_timeline.h"

namespace tessella::testing {

// Builds a problem by names: add("B_MLP.0", 530) appends to the chain of its action, movable(...) hangs a weight
// gradient on the last compute task of it. Times are in picoseconds unless `unit` says otherwise.
class PairBuilder {
 public:
  explicit PairBuilder(PairPasses passes = {ActionKind::F, ActionKind::B}, std::int64_t unit = 1) : unit_(unit) {
    problem.passes = passes;
  }
  PairBuilder& add(const std::string& name, std::int64_t time, double slowdown = 1.0) {
    const TaskId id = *parse_task(name, problem.passes);
    const bool exchange = id.part == TaskPart::dispatch || id.part == TaskPart::combine;
    push({id, exchange ? OpLane::ep : OpLane::compute, false, last_[id.half]}, time, slowdown);
    last_[id.half] = problem.tasks.size() - 1;
    return *this;
  }
  PairBuilder& movable(const std::string& name, std::int64_t time, double slowdown = 1.0) {
    const TaskId id = *parse_task(name, problem.passes);
    push({id, OpLane::compute, true, last_[id.half]}, time, slowdown);
    return *this;
  }
  PairProblem problem;

 private:
  void push(const PairTask& task, std::int64_t time, double slowdown) {
    problem.tasks.push_back(task);
    problem.ops.push_back({{Duration{time * unit_}, Pace::slowed_by(slowdown)}});
  }
  std::int64_t unit_;
  std::array<std::optional<std::size_t>, 2> last_;
};

// Numbers below a bound, one after another.
class PairDice {
 public:
  explicit PairDice(std::uint64_t seed) : stream_(seed, Purpose::test) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(stream_.word(next_++) % static_cast<std::uint64_t>(n));
  }

 private:
  Stream stream_;
  std::uint64_t next_ = 0;
};

struct PairSizes {
  std::array<std::int64_t, 2> chain{3, 3};
  std::int64_t movable = 2;
  std::int64_t longest = 1000; // picoseconds; small values make ties and empty ops
};

// Chains of tasks on random lanes, of one or two ops, with movable tasks behind compute tasks of the second one.
inline PairProblem random_pair(PairDice& dice, const PairSizes& sizes) {
  PairProblem p;
  p.passes = {ActionKind::B, ActionKind::B};
  const auto ops = [&] {
    std::vector<TaskOp> drawn;
    for (std::int64_t n = 1 + dice.below(2); n > 0; --n)
      drawn.push_back(
          {Duration{dice.below(sizes.longest)}, Pace::slowed_by(1.0 + 0.01 * static_cast<double>(dice.below(90)))});
    return drawn;
  };
  for (std::uint8_t half = 0; half < 2; ++half) {
    std::vector<std::size_t> compute;
    std::optional<std::size_t> last;
    for (std::int32_t i = 0; i < sizes.chain[half]; ++i) {
      const OpLane lane = dice.below(2) == 0 ? OpLane::compute : OpLane::ep;
      p.tasks.push_back(
          {TaskId{half, false, lane == OpLane::ep ? TaskPart::dispatch : TaskPart::experts, i, 0}, lane, false, last});
      p.ops.push_back(ops());
      last = p.tasks.size() - 1;
      if (lane == OpLane::compute) compute.push_back(*last);
    }
    for (std::int32_t i = 0; half == 1 && i < sizes.movable && !compute.empty(); ++i) {
      const std::size_t after =
          compute[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(compute.size())))];
      p.tasks.push_back({TaskId{half, true, TaskPart::experts, i, 0}, OpLane::compute, true, after});
      p.ops.push_back(i > 0 && dice.below(2) == 0 ? p.ops.back() : ops()); // equal ones are one kind
    }
  }
  return p;
}

// Whether both lanes get through: no task waits for one that stands behind it.
inline bool can_run(const PairProblem& p, const LaneOrders& order) {
  std::vector<bool> done(p.tasks.size(), false);
  std::array<std::size_t, 2> next{};
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t l = 0; l < 2; ++l)
      while (next[l] < order.lanes[l].size()) {
        const std::size_t t = order.lanes[l][next[l]];
        if (p.tasks[t].after && !done[*p.tasks[t].after]) break;
        done[t] = true;
        ++next[l];
        moved = true;
      }
  }
  return next[0] == order.lanes[0].size() && next[1] == order.lanes[1].size();
}

// The best of all orders, by trying them all.
inline Duration brute_force(const PairProblem& p) {
  LaneOrders order;
  order[OpLane::compute] = p.lane(OpLane::compute);
  order[OpLane::ep] = p.lane(OpLane::ep);
  Duration best = Duration::max();
  std::vector<std::size_t>& compute = order[OpLane::compute];
  std::vector<std::size_t>& ep = order[OpLane::ep];
  do {
    do {
      if (can_run(p, order)) best = min(best, run_order(p, order).makespan);
    } while (std::next_permutation(ep.begin(), ep.end()));
  } while (std::next_permutation(compute.begin(), compute.end()));
  return best;
}

} // namespace tessella::testing
