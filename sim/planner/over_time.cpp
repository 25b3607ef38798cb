#include "sim/planner/over_time.h"

#include <algorithm>

#include "sim/domain/layout.h"
#include "sim/exec/fill_policies.h"
#include "sim/planner/replan.h"
#include "sim/planner/simulate.h"

namespace tessella {
namespace {

void append(RunRecords& all, RunRecords part) {
  if (all.steps.empty()) {
    all = std::move(part);
    return;
  }
  all.steps.insert(all.steps.end(), part.steps.begin(), part.steps.end());
  all.warm_up += part.warm_up;
  if (all.rank_rows.empty()) all.rank_rows = std::move(part.rank_rows);
  all.sums += part.sums;
  all.simulated_replicas = std::max(all.simulated_replicas, part.simulated_replicas);
  all.enough = part.enough;
  all.partial = part.partial;
  all.events.insert(all.events.end(), part.events.begin(), part.events.end());
  all.flows.insert(all.flows.end(), part.flows.begin(), part.flows.end());
}

std::int64_t peak(const MemoryReport& m) {
  return m.ranks[static_cast<std::size_t>(m.peak_rank)].peak().count;
}

Duration mean_step(const std::vector<StepRecord>& steps) {
  Duration sum;
  for (const StepRecord& s : steps) sum += s.makespan;
  return {sum.ps / std::max<std::int64_t>(1, static_cast<std::int64_t>(steps.size()))};
}

// The load of the hottest rank in the first step of the static plan: how much memory deferred work may hold is fixed
// before the run, from what a step without a filler needs. 1 without a filler.
double load_of_static_step(const Scenario& s, const Program& program, LoadSource* loads, bool alike,
                           const RunOptions& of) {
  if (!find_fill_policy(s.bubble_filler.policy)->defers) return 1.0;
  RunOptions options;
  options.seed = of.seed;
  options.first_step = of.first_step;
  return run_program(program, loads, alike, options).sums.held_load_max;
}

// Runs the phases one after another; a phase is cut where the plan is made anew.
class Runner {
 public:
  Runner(const Scenario& s, LoadSource* loads, const RunOptions& options, const AlignRule& align)
      : s_(s), loads_(loads), options_(options), align_(align), schedule_(schedule_of(s)), planned_(s.partition),
        running_(s.partition),
        alike_(!loads || s.routing.kind == RoutingKind::balanced || s.routing.kind == RoutingKind::loads) {}

  OverTime run() {
    if (s_.replan.on) promised_ = one_step(Phase{0, 1, {}}, s_.partition).slowest_stage;
    for (const Phase& phase : phases_of(s_))
      if (!run_phase(phase)) break;
    return std::move(run_);
  }

 private:
  bool run_phase(Phase phase);
  std::int64_t run_part(const Phase& phase, bool& stop, bool& replan);
  void make_plan_anew(const Phase& phase);
  void note(const Phase& phase, const Scenario& now, const RunRecords& part);
  void charge(const Phase& phase, std::size_t first);
  StepRecord one_step(const Phase& phase, const Partition& partition) const;

  const Scenario& s_;
  LoadSource* loads_;
  const RunOptions& options_;
  const AlignRule& align_;
  Schedule schedule_;
  Partition planned_;
  Partition running_; // where the layers are
  const DenseCircuit* circuit_ = nullptr;
  bool alike_;
  Duration promised_; // time of the slowest stage
  Duration planning_; // profiling and planning to be charged to the next step
  OverTime run_;
};

StepRecord Runner::one_step(const Phase& phase, const Partition& partition) const {
  const Scenario now = scenario_in(s_, phase, partition);
  const Program program = lower_phase(s_, phase, now, schedule_, options_.threads, align_).program;
  RunOptions o;
  o.seed = options_.seed;
  o.threads = options_.threads;
  o.first_step = phase.first;
  return run_program(program, loads_, alike_ && program.handicaps.empty(), o).steps.front();
}

bool Runner::run_phase(Phase phase) {
  const std::int64_t end = phase.first + phase.count;
  while (phase.first < end) {
    bool stop = false;
    bool replan = false;
    phase.first += run_part(phase, stop, replan);
    phase.count = end - phase.first;
    if (stop) return false;
    if (replan && phase.count > 0) make_plan_anew(phase);
  }
  return true;
}

// Runs the phase until its end, or until the plan no longer holds; returns the steps done.
std::int64_t Runner::run_part(const Phase& phase, bool& stop, bool& replan) {
  const Scenario now = scenario_in(s_, phase, planned_);
  const LoweredStep step = lower_phase(s_, phase, now, schedule_, options_.threads, align_);
  const Program& program = step.program;
  if (run_.phases.empty()) run_.pairs = step.pairs;
  const bool alike = alike_ && program.handicaps.empty();
  const bool moved_by_event = !(now.partition == planned_);
  RunOptions o = options_;
  o.first_step = phase.first;
  o.steps = phase.count;
  o.warm_up = s_.warm_up;
  o.filler = filler_options(now, schedule_, load_of_static_step(now, program, loads_, alike, o));
  if (options_.progress)
    o.progress = [&](std::int64_t done, std::int64_t) { options_.progress(phase.first + done, s_.steps); };
  const auto misses = [&](const std::vector<StepRecord>& steps) {
    return !moved_by_event && should_replan(s_.replan, steps, promised_);
  };
  const auto enough = [&](const std::vector<StepRecord>& steps) {
    if (!options_.enough) return false;
    std::vector<StepRecord> all = run_.records.steps;
    all.insert(all.end(), steps.begin(), steps.end());
    all.erase(all.begin(), all.begin() + std::min(std::ssize(all), static_cast<std::ptrdiff_t>(s_.warm_up)));
    return options_.enough(all);
  };
  if (s_.replan.on || options_.enough)
    o.enough = [&](const std::vector<StepRecord>& steps) { return misses(steps) || enough(steps); };
  RunRecords part = run_program(program, loads_, alike, o);
  replan = misses(part.steps);
  part.enough = part.enough && !replan;
  stop = part.steps.empty() || part.partial || part.enough;
  const auto done = static_cast<std::int64_t>(part.steps.size());
  const std::size_t first = run_.records.steps.size();
  if (done > 0) note(phase, now, part);
  append(run_.records, std::move(part));
  if (done > 0) charge(phase, first);
  return done;
}

void Runner::note(const Phase& phase, const Scenario& now, const RunRecords& part) {
  RunPhase told{phase.first, static_cast<std::int64_t>(part.steps.size()), {}, mean_step(part.steps), {}};
  for (const std::size_t e : phase.events) told.events.push_back(describe(s_.events[e].what));
  if (!run_.replannings.empty()) {
    Replanning& last = run_.replannings.back();
    told.events.push_back("plan of step " + std::to_string(last.step));
    if (last.step == phase.first) last.after = told.step_time;
  }
  MemoryReport memory = memory_of(now, schedule_, part.sums.held_load_max);
  // Deferred weight gradients hold what they need a little longer.
  for (std::size_t p = 0; p < part.sums.pool_peak_bytes.size(); ++p)
    memory.ranks[p].activations.count += part.sums.pool_peak_bytes[p];
  if (run_.phases.empty() || peak(memory) > peak(run_.memory)) run_.memory = std::move(memory);
  run_.phases.push_back(std::move(told));
}

// What stopped the job before the phase.
void Runner::charge(const Phase& phase, std::size_t first) {
  const Partition& now = partition_in(s_, phase, planned_);
  const Duration moved = move_time(s_, running_, now);
  running_ = now;
  const DenseCircuit* circuit = circuit_in(s_, phase);
  const Duration setup = circuit && circuit != circuit_ ? circuit->setup : Duration{};
  circuit_ = circuit;
  const std::int64_t ranks = s_.parallelism.world_size;
  if (moved > Duration{}) pause(run_.records, first, moved, Share::exposed_pp, ranks);
  if (setup > Duration{}) pause(run_.records, first, setup, Share::exposed_dp, ranks);
  if (planning_ > Duration{}) pause(run_.records, first, planning_, Share::bubble_dependency, ranks);
  run_.phases.back().pause = moved + setup + planning_;
  if (!run_.replannings.empty() && run_.replannings.back().step == phase.first)
    run_.replannings.back().pause = run_.phases.back().pause;
  planning_ = {};
}

void Runner::make_plan_anew(const Phase& phase) {
  const auto needs = [&](const Partition& p) {
    Scenario now = s_;
    now.partition = p;
    return peak(memory_of(now, schedule_, 1.0));
  };
  const std::int64_t most = std::max(s_.profile.gpu.memory.count, needs(planned_));
  const NewPlan plan = better_partition(planned_, [&](const Partition& p) -> std::optional<StepRecord> {
    if (needs(p) > most) return std::nullopt;
    return one_step(phase, p);
  });
  const double error = stage_error(run_.records.steps.back(), promised_);
  promised_ = plan.step.slowest_stage;
  planning_ = s_.replan.profiling + s_.replan.planning;
  run_.replannings.push_back({phase.first, error, to_layout(plan.partition), {}, run_.phases.back().step_time, {}});
  planned_ = plan.partition;
}

} // namespace

void pause(RunRecords& records, std::size_t step, Duration d, Share share, std::int64_t ranks) {
  records.steps[step].makespan += d;
  records.steps[step].ledger_sum[share] += d * ranks;
  if (static_cast<std::int64_t>(step) == records.warm_up)
    for (LedgerRow& row : records.rank_rows) row[share] += d;
}

OverTime run_over_time(const Scenario& scenario, LoadSource* loads, const RunOptions& options, const AlignRule& align) {
  return Runner(scenario, loads, options, align).run();
}

} // namespace tessella
