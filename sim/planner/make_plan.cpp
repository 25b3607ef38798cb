#include "sim/planner/make_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/engine/parallel.h"
#include "sim/exec/lower.h"
#include "sim/planner/overlap/pair_candidates.h"
#include "sim/planner/overlap/pair_cost.h"
#include "sim/planner/overlap/pair_orders.h"
#include "sim/planner/partition/baselines.h"
#include "sim/planner/partition/certificate.h"
#include "sim/planner/partition/coupled_caps.h"
#include "sim/planner/partition/overlap_problem.h"
#include "sim/planner/partition/partition_milp.h"
#include "sim/planner/partition/rank_sum.h"
#include "sim/planner/partition/refine.h"
#include "sim/planner/search/fit.h"
#include "sim/planner/simulate.h"
#include "sim/planner/what_if.h"
#include "sim/schedule/replay.h"

namespace tessella {
namespace {

class Planner {
 public:
  Planner(const Scenario& scenario, const PlanOptions& options)
      : scenario_(scenario), options_(options), ops_(make_model_ops(scenario)), table_(scenario, ops_),
        schedule_(schedule_of(scenario)), graph_(overlap_graph(schedule_)), memory_(scenario, schedule_, 1.0),
        costs_(scenario, ops_, table_, graph_.paired, options.align),
        cost_([this](const StageContent& f, const StageContent& b) { return costs_.cost(f, b); }) {
    flight_ = p2p_flight(ops_);
  }

  PlanFile run() {
    const bool keep = graph_.paired && !options_.pair_costs.empty();
    if (keep) costs_.table().load(options_.pair_costs);
    PlanFile plan = search_all();
    if (keep) costs_.table().save(options_.pair_costs);
    return plan;
  }

 private:
  PlanFile search_all() {
    PlanFile plan;
    plan.experiment = scenario_.name;
    plan.schedule = scenario_.schedule;
    plan.inputs = scenario_.inputs;
    std::vector<PlanRow> rows = baselines();
    search(rows, plan);
    time_rows(rows);
    refine_fastest(rows);
    const auto best = fastest(rows);
    if (best == rows.end()) throw InfeasiblePlan(infeasible(rows));
    plan.best = *best;
    rows.erase(best);
    plan.baselines = std::move(rows);
    const bool proven = plan.certificate.surrogate_proven;
    plan.certificate = certify(scenario_, schedule_, ops_, table_);
    plan.certificate.surrogate_proven = proven;
    plan.search.simulations = simulations_;
    plan.search.pairs_distinct = costs_.distinct();
    plan.search.pairs_cached = costs_.cached();
    if (graph_.paired) plan.pairs = pairs_of(plan.best.partition);
    explain(plan);
    return plan;
  }

  PlanRow row(std::string name, const Partition& partition) {
    return {std::move(name), partition, bottleneck(graph_, partition, cost_), {}, memory_.slack(partition)};
  }

  std::vector<PlanRow> baselines() {
    std::vector<PlanRow> rows;
    for (const NamedPartition& b : baseline_partitions(scenario_, table_, memory_))
      rows.push_back(row(b.name, b.partition));
    rows.push_back(row("given", scenario_.partition));
    return rows;
  }

  // Adds the row "overlap": the smallest bottleneck edge in the neighbourhood of the serial-balanced partition.
  void search(std::vector<PlanRow>& rows, PlanFile& plan) {
    auto centre = std::find_if(rows.begin(), rows.end(), [](const PlanRow& r) { return r.name == "serial"; });
    if (centre == rows.end()) centre = rows.begin();
    const Partition start_from = centre->partition;
    const OverlapProblem both = overlap_problem(graph_, start_from, options_.radius, cost_, &memory_);
    const PartitionProblem& problem = both.pruned;
    plan.search.solver = options_.reference_milp ? "cbc" : "threshold";
    plan.search.radius = options_.radius;
    plan.search.variables = both.whole.variables();
    plan.search.variables_pruned = problem.variables();
    if (memory_.slack(start_from).count < 0) leanest_ = leanest_partition(both.whole, start_from);
    if (leanest_ && leanest_->proven && leanest_->missing.count > 0) return; // nothing fits
    const auto start = std::chrono::steady_clock::now();
    const auto solution = options_.reference_milp ? solve_milp(problem) : solve_exact(problem);
    plan.search.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!solution) return;
    const auto fits = [this](const Partition& p) { return memory_.slack(p).count >= 0; };
    rows.push_back(row("overlap", evened(graph_, partition_of_choice(problem, solution->choice), cost_, fits)));
    plan.certificate.surrogate_proven = solution->proven();
    search_rank_sum(problem, start_from, rows, plan);
  }

  // Adds the row "rank_sum": the smallest largest sum of a rank's edges, none of them dearer than the baseline's
  // bottleneck. Without that ceiling a rank makes up for a long chunk with a short one, and neighbours wait for both.
  void search_rank_sum(const PartitionProblem& problem, const Partition& centre, std::vector<PlanRow>& rows,
                       PlanFile& plan) {
    const auto sums = solve_rank_sum(problem, centre);
    if (!sums) return;
    rows.push_back(row("rank_sum", partition_of_choice(problem, sums->choice)));
    const double gap = sums->bottleneck.seconds() / sums->lower_bound.seconds() - 1.0;
    plan.limits.push_back(fmt::format(
        "rank sum: the pairs of the busiest rank take {:.3f} s in row rank_sum, {}", sums->bottleneck.seconds(),
        sums->proven() ? std::string("proven smallest in the neighbourhood")
                       : fmt::format("at most {:.2g} % above the smallest", 100.0 * gap)));
  }

  // The orders that the simulations of this partition ran.
  PlanPairs pairs_of(const Partition& partition) const {
    const ChunkLibrary chunks(scenario_, ops_);
    return {scenario_.overlap.scheduler, costs_hash(chunks),
            order_pairs(scenario_.overlap, chunks, partition, schedule_, options_.threads, options_.align).orders};
  }

  std::vector<Duration> simulate_all(const std::vector<Partition>& partitions) {
    std::vector<Duration> times(partitions.size());
    parallel_for(partitions.size(), options_.threads, [&](std::size_t i) {
      Scenario s = scenario_;
      s.partition = partitions[i];
      times[i] = simulate(s, {}, options_.align).step_time;
    });
    simulations_ += static_cast<std::int64_t>(partitions.size());
    return times;
  }

  void time_rows(std::vector<PlanRow>& rows) {
    std::vector<Partition> distinct;
    for (const PlanRow& r : rows)
      if (std::find(distinct.begin(), distinct.end(), r.partition) == distinct.end()) distinct.push_back(r.partition);
    const std::vector<Duration> times = simulate_all(distinct);
    for (PlanRow& r : rows)
      r.step_time =
          times[static_cast<std::size_t>(std::find(distinct.begin(), distinct.end(), r.partition) - distinct.begin())];
  }

  // Of equals the last: our own rows come after the baselines.
  static std::vector<PlanRow>::iterator fastest(std::vector<PlanRow>& rows) {
    auto best = rows.end();
    for (auto r = rows.begin(); r != rows.end(); ++r)
      if (r->fits() && (best == rows.end() || r->step_time <= best->step_time)) best = r;
    return best;
  }

  Duration replayed(const Partition& partition) {
    ReplayTimes times;
    times.comm = flight_.ps;
    const auto n = static_cast<std::size_t>(graph_.num_stages);
    for (const StageContent& content : partition.stages) {
      const PieceTimes t = table_.stage(content);
      const std::int64_t i = t.input_grad.serial().ps;
      const std::int64_t w = t.weight_grad.serial().ps;
      times.stages.push_back({t.forward.serial().ps, i + w, i, w});
    }
    if (graph_.paired) {
      times.pairs.assign(n * n, 0);
      for (const OverlapEdge& e : graph_.edges) {
        const auto f = static_cast<std::size_t>(e.forward_stage);
        const auto b = static_cast<std::size_t>(e.backward_stage);
        times.pairs[f * n + b] = cost_(partition.stages[f], partition.stages[b]).ps;
      }
    }
    return {replay(schedule_, times).makespan};
  }

  void refine_fastest(std::vector<PlanRow>& rows) {
    const auto start = fastest(rows);
    if (start == rows.end()) return;
    RefineCosts costs;
    costs.estimate = [this](const Partition& p) -> std::optional<Duration> {
      if (memory_.slack(p).count < 0) return std::nullopt;
      return replayed(p);
    };
    costs.simulate = [this](const std::vector<Partition>& all) { return simulate_all(all); };
    const Refinement better = refine(start->partition, start->step_time, costs, options_.refine_rounds);
    if (better.step_time >= start->step_time) return;
    PlanRow refined = row("refined", better.partition);
    refined.step_time = better.step_time;
    rows.push_back(std::move(refined));
  }

  static std::string fullest_rank(const Leanest& l) {
    const StageContent& c = l.partition.stages[static_cast<std::size_t>(l.fullest)];
    std::string stages;
    for (const std::int32_t s : l.stages) stages += fmt::format("{}{}", stages.empty() ? "" : ", ", s);
    return fmt::format("\nthe fullest rank holds stage{} {}; most of it is stage {} with layers {} to {}: {:.1f} GB",
                       l.stages.size() > 1 ? "s" : "", stages, l.fullest, c.first_layer,
                       c.first_layer + c.num_layers - 1, static_cast<double>(l.held.count) / 1e9);
  }

  std::string infeasible(const std::vector<PlanRow>& rows) const {
    const auto least_bad =
        std::max_element(rows.begin(), rows.end(), [](const PlanRow& a, const PlanRow& b) { return a.free < b.free; });
    const bool known = leanest_ && -leanest_->missing.count >= least_bad->free.count;
    Scenario s = scenario_;
    s.partition = known ? leanest_->partition : least_bad->partition;
    const double missing = static_cast<double>(known ? leanest_->missing.count : -least_bad->free.count) / 1e9;
    std::string text =
        fmt::format("no partition of {} layers over {} stages fits within {} layers of the balanced one; the "
                    "leanest{} is {:.1f} GB short: {}",
                    s.model.num_layers(), s.parallelism.num_stages(), options_.radius,
                    known && leanest_->proven ? "" : " found", missing, verdict(memory_of(s, schedule_, 1.0)));
    if (known) text += fullest_rank(*leanest_);
    const std::vector<std::string> changes = changes_that_fit(scenario_);
    if (changes.empty()) return text + "\nno single change of recompute, chunks, micro-batch, EP, TP, PP or CP fits";
    text += "\nsingle changes that fit:";
    for (const std::string& change : changes) text += "\n  " + change;
    return text;
  }

  void explain(PlanFile& plan) {
    const Partition& p = plan.best.partition;
    for (const OverlapEdge& e : graph_.edges) {
      const auto f = static_cast<std::size_t>(e.forward_stage);
      const auto b = static_cast<std::size_t>(e.backward_stage);
      if (cost_(p.stages[f], p.stages[b]) != plan.best.bottleneck) continue;
      const PassTimes forward = table_.stage(p.stages[f]).forward;
      const PassTimes backward = table_.stage(p.stages[b]).backward();
      plan.limits.push_back(fmt::format(
          "bottleneck edge: forward of stage {} beside backward of stage {} takes {:.3f} ms; serially {:.3f} ms "
          "(compute lane {:.3f}, exchange {:.3f})",
          f, b, plan.best.bottleneck.seconds() * 1e3, (forward.serial() + backward.serial()).seconds() * 1e3,
          (forward.compute_lane() + backward.compute_lane()).seconds() * 1e3,
          (forward.exchange + backward.exchange).seconds() * 1e3));
      break;
    }
    plan.limits.push_back(fmt::format("memory: {:.1f} GB are free on the fullest rank at balanced load",
                                      static_cast<double>(plan.best.free.count) / 1e9));
    plan.limits.push_back("lower bound from: " + plan.certificate.limited_by);
    if (options_.explain) plan.what_ifs = what_ifs(scenario_, p, options_.threads);
  }

  const Scenario& scenario_;
  const PlanOptions& options_;
  ModelOps ops_;
  LayerTable table_;
  Schedule schedule_;
  OverlapGraph graph_;
  StageMemory memory_;
  PairCosts costs_;
  EdgeCost cost_;
  Duration flight_;
  std::int64_t simulations_ = 0;
  std::optional<Leanest> leanest_; // where nothing fits
};

} // namespace

PlanFile make_plan(const Scenario& scenario, const PlanOptions& options) {
  if (is_uniform(scenario.profile))
    throw InputError("plan",
                     "profile " + scenario.profile.name +
                         " gives every stage the same time, so there is nothing to balance; use a kernel profile");
  if (options.reference_milp && !has_milp()) throw InputError("--solver cbc", "this build has no CBC");
  return Planner(scenario, options).run();
}

} // namespace tessella
