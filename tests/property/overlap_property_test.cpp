// Laws of the overlap schedulers on random pairs: the exact order against all orders, two exact methods against each
// other, and what every result promises.
#include <doctest/doctest.h>

#include <string>

#include "sim/exec/pair_order.h"
#include "sim/planner/overlap/overlap.h"
#include "sim/planner/overlap/overlap_chains.h"
#include "tests/support/pairs.h"

using namespace tessella;
using namespace tessella::testing;

namespace {

PairSizes small_sizes(PairDice& dice) {
  PairSizes sizes;
  sizes.chain = {1 + dice.below(4), 1 + dice.below(3)};
  sizes.movable = dice.below(3);
  if (dice.below(4) == 0) sizes.longest = 4;
  return sizes;
}

} // namespace

TEST_CASE("Exact equals brute force on up to nine tasks") {
  std::int64_t with_movable = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    PairDice dice(seed);
    const PairProblem problem = random_pair(dice, small_sizes(dice));
    REQUIRE(problem.tasks.size() <= 9);
    if (problem.lane(OpLane::compute).size() > 6 || problem.lane(OpLane::ep).size() > 6) continue;
    const PairResult exact = schedule_pair(problem, OverlapMethod::exact);
    REQUIRE(exact.post_overlap.ps == brute_force(problem).ps);
    REQUIRE(exact.proven);
    with_movable += exact.tasks.size() > problem.chain(0).size() + problem.chain(1).size() ? 1 : 0;
  }
  CHECK(with_movable > 300);
}

TEST_CASE("Without movable tasks the job shop and the branch and bound agree") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    PairDice dice(seed);
    const PairProblem problem = random_pair(dice, {{4 + dice.below(12), 4 + dice.below(12)}, 0, 1000});
    const SearchJobs jobs = *search_jobs(problem);
    const OrderBound bound(problem, jobs);
    const SearchOutcome found = search_orders(problem, jobs, bound, problem.serial() + Duration{1}, {});
    TwoJobShop shop;
    for (std::size_t half = 0; half < 2; ++half)
      for (const std::size_t t : jobs.chains[half])
        shop.jobs[half].push_back({static_cast<std::uint8_t>(problem.tasks[t].lane), problem.ops[t]});
    REQUIRE(found.complete);
    REQUIRE(run_order(problem, *found.order).makespan.ps == TwoJobSolution(shop).makespan().ps);
  }
}

TEST_CASE("Exact is never worse than a heuristic; nothing is below a bound, nor above serial") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    PairDice dice(seed);
    const PairProblem problem = random_pair(dice, {{3 + dice.below(12), 3 + dice.below(12)}, dice.below(7), 1000});
    const std::int64_t nodes = dice.below(3) == 0 ? 50 : 100'000; // some searches stop early
    const PairResult exact = schedule_pair(problem, OverlapMethod::exact, {nodes, std::nullopt});
    REQUIRE(exact.lower_bound <= exact.post_overlap);
    REQUIRE(exact.proven == (exact.lower_bound == exact.post_overlap));
    for (const OverlapMethod method : kOverlapMethods) {
      if (method == OverlapMethod::exact || !applies(method, problem.passes)) continue;
      CAPTURE(std::string(name(method)));
      const PairResult r = schedule_pair(problem, method);
      REQUIRE(exact.post_overlap <= r.post_overlap);
      REQUIRE(exact.lower_bound <= r.post_overlap);
      REQUIRE(r.lower_bound <= exact.post_overlap);
      REQUIRE(r.serial == problem.serial());
      REQUIRE(r.ep_hidden <= r.ep_busy);
      REQUIRE_FALSE(order_problem(problem.tasks, r.plan).has_value());
      REQUIRE(cost_of_order(problem, r.plan).post_overlap == r.post_overlap);
    }
  }
}

TEST_CASE("A search that stops early says so and its bound holds") {
  PairDice dice(11);
  std::int64_t open = 0;
  for (std::int64_t i = 0; i < 30; ++i) {
    const PairProblem problem = random_pair(dice, {{14, 14}, 6, 1000});
    const PairResult early = schedule_pair(problem, OverlapMethod::exact, {20, std::nullopt});
    const PairResult full = schedule_pair(problem, OverlapMethod::exact);
    REQUIRE(full.proven);
    CHECK(early.lower_bound <= full.post_overlap);
    CHECK(early.post_overlap >= full.post_overlap);
    open += early.proven ? 0 : 1;
  }
  CHECK(open > 10);
}

TEST_CASE("Rearranging the two actions changes names only") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    PairDice dice(seed);
    const PairProblem problem = random_pair(dice, {{6, 6}, 3, 1000});
    PairProblem swapped = problem;
    for (PairTask& t : swapped.tasks) t.id.half = static_cast<std::uint8_t>(1 - t.id.half);
    CHECK(schedule_pair(problem, OverlapMethod::exact).post_overlap ==
          schedule_pair(swapped, OverlapMethod::exact).post_overlap);
  }
}

TEST_CASE("Doubling every time without contention doubles the best") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    PairDice dice(seed);
    PairProblem problem = random_pair(dice, {{6, 6}, 3, 1000});
    for (auto& ops : problem.ops)
      for (TaskOp& op : ops) op.beside = Pace{};
    PairProblem doubled = problem;
    for (auto& ops : doubled.ops)
      for (TaskOp& op : ops) op.work = op.work * 2;
    CHECK(schedule_pair(doubled, OverlapMethod::exact).post_overlap.ps ==
          2 * schedule_pair(problem, OverlapMethod::exact).post_overlap.ps);
  }
}
