#include "sim/planner/partition/solver_race.h"

#include <time.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "sim/base/error.h"
#include "sim/exec/lower.h"
#include "sim/planner/overlap/pair_cost.h"
#include "sim/planner/partition/baselines.h"
#include "sim/planner/partition/overlap_problem.h"
#include "sim/planner/partition/partition_milp.h"
#include "sim/planner/simulate.h"

namespace tessella {
namespace {

// CPU seconds of this thread: what one core takes, whoever else uses it.
template <class Work>
double timed(Work work) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

using Solver = std::function<std::optional<PartitionSolution>()>;

void run(const char* name, const Solver& solver, SolverRace& race) {
  std::optional<PartitionSolution> found;
  const double seconds = timed([&] { found = solver(); });
  if (found) race.solvers.push_back({name, found->bottleneck, found->lower_bound, found->nodes, seconds});
}

void count(const PartitionProblem& whole, SolverRace& race) {
  race.edges = static_cast<std::int64_t>(whole.edges.size());
  race.variables = whole.variables();
  const auto [least, most] = std::minmax_element(whole.candidates.begin(), whole.candidates.end(),
                                                 [](const auto& a, const auto& b) { return a.size() < b.size(); });
  race.fewest_candidates = static_cast<std::int64_t>(least->size());
  race.most_candidates = static_cast<std::int64_t>(most->size());
}

} // namespace

SolverRace race_solvers(const Scenario& scenario, const SolverRaceOptions& options) {
  if (is_uniform(scenario.profile))
    throw InputError("plan --solvers",
                     "profile " + scenario.profile.name + " gives every stage the same time; use a kernel profile");
  const ModelOps ops = make_model_ops(scenario);
  const LayerTable table(scenario, ops);
  const Schedule schedule = schedule_of(scenario);
  const OverlapGraph graph = overlap_graph(schedule);
  const StageMemory memory(scenario, schedule, 1.0);
  PairCosts costs(scenario, ops, table, graph.paired);
  const EdgeCost cost = [&costs](const StageContent& f, const StageContent& b) { return costs.cost(f, b); };
  const std::int64_t stages = scenario.parallelism.num_stages();
  auto balanced = time_balanced_partition(scenario.model, table, stages, 0.0, &memory);
  const Partition centre = balanced ? *balanced : uniform_partition(scenario.model, stages);

  SolverRace race;
  race.radius = options.radius;
  race.baseline = bottleneck(graph, centre, cost);
  const auto candidates = candidates_around(centre, options.radius);
  race.pricing_s = timed([&] { partition_problem(graph, candidates, cost, &memory); });
  race.pairs_distinct = costs.distinct();
  OverlapProblem problem;
  race.pruning_s = timed([&] { problem = overlap_problem(graph, centre, options.radius, cost, &memory); });
  count(problem.whole, race);
  race.variables_pruned = problem.pruned.variables();
  const EquationSize equation = equation_size(graph, candidates, cost, race.baseline);
  race.equation_variables = equation.variables;
  race.equation_pruned = equation.pruned;
  run(
      "threshold", [&] { return solve_exact(problem.pruned); }, race);
  if (options.with_cbc && has_milp())
    run(
        "cbc", [&] { return solve_milp(problem.pruned, options.cbc_seconds); }, race);
  return race;
}

} // namespace tessella
