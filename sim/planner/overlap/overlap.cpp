#include "sim/planner/overlap/overlap.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/exec/pair_order.h"
#include "sim/planner/overlap/best_order.h"

namespace tessella {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"fifo", "align", "align_defer", "megatron", "exact"};

std::optional<ListRule> list_rule(OverlapMethod method) {
  switch (method) {
  case OverlapMethod::fifo:
    return ListRule::fifo;
  case OverlapMethod::align:
    return ListRule::align;
  case OverlapMethod::align_defer:
    return ListRule::align_defer;
  case OverlapMethod::megatron:
  case OverlapMethod::exact:
    break;
  }
  return std::nullopt;
}

LaneOrders heuristic_order(const PairProblem& problem, OverlapMethod method, const AlignRule& align) {
  if (const auto rule = list_rule(method)) return list_schedule(problem, *rule, align);
  return lane_orders(problem, megatron_order(problem.tasks, problem.passes));
}

// The chains as a job shop with contention; for pairs without movable tasks.
TwoJobShop shop_of(const PairProblem& problem, const SearchJobs& jobs) {
  TwoJobShop shop;
  for (std::size_t half = 0; half < 2; ++half)
    for (const std::size_t t : jobs.chains[half])
      shop.jobs[half].push_back({static_cast<std::uint8_t>(problem.tasks[t].lane), problem.ops[t]});
  return shop;
}

PairResult result_of(const PairProblem& problem, const LaneOrders& order, Duration lower_bound) {
  const PairTimeline timeline = run_order(problem, order);
  PairResult result;
  result.plan = pair_plan(problem, order);
  for (const OpLane lane : {OpLane::compute, OpLane::ep})
    for (const std::size_t t : order[lane])
      result.tasks.push_back({problem.tasks[t].id, lane == OpLane::ep, problem.tasks[t].movable, timeline.start[t],
                              timeline.end[t], problem.alone(t)});
  result.serial = problem.serial();
  result.post_overlap = timeline.makespan;
  result.ep_busy = timeline.ep_busy;
  result.ep_hidden = timeline.ep_hidden;
  TSL_CHECK_OP(lower_bound.ps, <=, result.post_overlap.ps);
  result.lower_bound = lower_bound;
  result.proven = lower_bound == result.post_overlap;
  return result;
}

Duration lane_load(const PairProblem& problem, OpLane lane) {
  Duration sum;
  for (const std::size_t t : problem.lane(lane)) sum += problem.alone(t);
  return sum;
}

Duration root_bound(const PairProblem& problem, const std::optional<SearchJobs>& jobs) {
  if (jobs) return OrderBound(problem, *jobs).rest({});
  return max(lane_load(problem, OpLane::compute), lane_load(problem, OpLane::ep));
}

// The better of the heuristics' orders, then of the searches'.
PairResult exact(const PairProblem& problem, const SearchLimits& limits, const AlignRule& align) {
  BestOrder best(problem);
  for (const OverlapMethod method : kOverlapMethods)
    if (method != OverlapMethod::exact && applies(method, problem.passes))
      best.offer(heuristic_order(problem, method, align));
  const std::optional<SearchJobs> jobs = search_jobs(problem);
  if (!jobs) return result_of(problem, best.order(), root_bound(problem, jobs));
  if (jobs->kinds.empty()) {
    const TwoJobShop shop = shop_of(problem, *jobs);
    const TwoJobSolution solution(shop);
    LaneOrders order;
    for (const TwoJobSolution::Start& start : solution.starts()) {
      const std::size_t task = jobs->chains[start.job][start.op];
      order[problem.tasks[task].lane].push_back(task);
    }
    best.offer(std::move(order));
    return result_of(problem, best.order(), solution.makespan());
  }
  const OrderBound bound(problem, *jobs);
  SearchOutcome outcome = search_orders(problem, *jobs, bound, best.makespan(), limits);
  if (outcome.order) best.offer(std::move(*outcome.order));
  return result_of(problem, best.order(), outcome.lower_bound);
}

} // namespace

const char* name(OverlapMethod method) {
  return kNames[static_cast<std::size_t>(method)].data();
}

std::optional<OverlapMethod> parse_overlap_method(std::string_view text) {
  const auto found = std::find(kNames.begin(), kNames.end(), text);
  if (found == kNames.end()) return std::nullopt;
  return kOverlapMethods[static_cast<std::size_t>(found - kNames.begin())];
}

bool applies(OverlapMethod method, const PairPasses& passes) {
  return method != OverlapMethod::megatron || passes[0] != passes[1];
}

PairResult schedule_pair(const PairProblem& problem, OverlapMethod method, const SearchLimits& limits,
                         const AlignRule& align) {
  TSL_CHECK(applies(method, problem.passes));
  if (method == OverlapMethod::exact) return exact(problem, limits, align);
  return result_of(problem, heuristic_order(problem, method, align), root_bound(problem, search_jobs(problem)));
}

PairResult cost_of_order(const PairProblem& problem, const PairPlan& plan) {
  return result_of(problem, lane_orders(problem, plan), root_bound(problem, search_jobs(problem)));
}

} // namespace tessella
