#include "sim/planner/over_time.h"

#include <algorithm>
#include <set>

#include "sim/cost/memory.h"
#include "sim/cost/params.h"
#include "sim/domain/layout.h"
#include "sim/domain/workload_shape.h"
#include "sim/exec/fill_policies.h"
#include "sim/planner/handicaps.h"
#include "sim/planner/replan.h"
#include "sim/planner/simulate.h"

namespace tessella {
namespace {

// `planned`: the partition of the job where no event says otherwise.
const Partition& partition_in(const Scenario& s, const Phase& phase, const Partition& planned) {
  const Partition* now = &planned;
  for (const std::size_t e : phase.events)
    if (const auto* move = std::get_if<MoveLayers>(&s.events[e].what)) now = &move->partition;
  return *now;
}

// nullptr when none is set up.
const DenseCircuit* circuit_in(const Scenario& s, const Phase& phase) {
  const DenseCircuit* circuit = nullptr;
  for (const std::size_t e : phase.events)
    if (const auto* c = std::get_if<DenseCircuit>(&s.events[e].what)) circuit = c;
  return circuit;
}

Scenario scenario_in(const Scenario& s, const Phase& phase, const Partition& planned) {
  Scenario now = s;
  now.partition = partition_in(s, phase, planned);
  for (const std::size_t e : phase.events)
    if (const auto* jitter = std::get_if<MoreJitter>(&s.events[e].what)) now.jitter = {jitter->kernel, jitter->fabric};
  return now;
}

// What evening out costs, per time of the work that moves: a rank's tokens out and back and its experts' weights over
// the scale-up port, over the time a forward pass of them takes.
double toll_of(const Scenario& s, const Program& program) {
  const WorkloadShape shape = workload_shape(s.model, s.parallelism, s.batch);
  const std::int64_t rows = shape.rows() / shape.ep;
  Duration work;
  for (const auto& kinds : program.stage_templates)
    for (const Op& op : program.templates[static_cast<std::size_t>(kinds[static_cast<std::size_t>(ActionKind::F)])].ops)
      if (op.cls == OpClass::compute && op.work == WorkKind::rank_load)
        work += program.curves[static_cast<std::size_t>(op.curve)].at(rows);
  std::int64_t weights = 0;
  std::int64_t width = s.model.hidden_size;
  for (const std::int64_t layer : moe_layers(s.model)) {
    const LayerKind& kind = layer < s.model.num_layers() ? s.model.layer(layer) : s.model.mtp_layer();
    width = expert_input_size(s.model.hidden_size, *moe_of(kind)); // the same in all of them
    if (layer < s.model.num_layers()) weights += ffn_params(s.model.hidden_size, kind.ffn).routed;
  }
  const double layers = static_cast<double>(shape.layers);
  const double tokens = layers * static_cast<double>(rows) * static_cast<double>(width) * 2.0;
  const double bytes = 2.0 * (2.0 * tokens + static_cast<double>(weights / (shape.ep * s.parallelism.etp)));
  return work == Duration{} ? 0.0 : bytes / s.cluster.node.scale_up.bandwidth.bytes_per_second / work.seconds();
}

LoweredStep step_in(const Scenario& s, const Phase& phase, const Scenario& now, const Schedule& schedule,
                    unsigned threads, const AlignRule& align) {
  LoweredStep step = lower_step(now, schedule, threads, align);
  Program& program = step.program;
  std::vector<WhatIf> events;
  for (const std::size_t e : phase.events) events.push_back(s.events[e].what);
  program.handicaps = handicaps_of(now, events, program, step.plans);
  if (const DenseCircuit* circuit = circuit_in(s, phase)) {
    Scenario optical = now;
    optical.cluster.node.nic.bandwidth = circuit->bandwidth;
    optical.cluster.fabric.leaf_to_spine.bandwidth = circuit->bandwidth;
    const Program faster = lower_in_orders(optical, schedule, step.plans);
    for (std::size_t p = 0; p < program.positions.size(); ++p)
      for (std::size_t c = 0; c < program.positions[p].chunks.size(); ++c) {
        program.positions[p].chunks[c].dense_reduce = faster.positions[p].chunks[c].dense_reduce;
        program.positions[p].chunks[c].param_gather = faster.positions[p].chunks[c].param_gather;
      }
  }
  for (const WhatIf& e : events)
    if (std::holds_alternative<WorkStealing>(e)) {
      const auto in_node = static_cast<std::int32_t>(std::min<std::int64_t>(now.cluster.node.gpus, program.ep_block));
      program.stealing = {program.ep_block % in_node == 0 ? in_node : 1, toll_of(now, program)};
    }
  return step;
}

void append(RunRecords& all, RunRecords part) {
  if (all.steps.empty()) {
    all = std::move(part);
    return;
  }
  all.steps.insert(all.steps.end(), part.steps.begin(), part.steps.end());
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
  const Program program = step_in(s_, phase, now, schedule_, options_.threads, align_).program;
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
  const LoweredStep step = step_in(s_, phase, now, schedule_, options_.threads, align_);
  const Program& program = step.program;
  if (run_.phases.empty()) run_.pairs = step.pairs;
  const bool alike = alike_ && program.handicaps.empty();
  const bool moved_by_event = !(now.partition == planned_);
  RunOptions o = options_;
  o.first_step = phase.first;
  o.steps = phase.count;
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

std::vector<Phase> phases_of(const Scenario& s) {
  std::set<std::int64_t> changes{0};
  for (const WhatIfEvent& e : s.events) {
    changes.insert(e.steps.first);
    if (e.steps.last && *e.steps.last + 1 < s.steps) changes.insert(*e.steps.last + 1);
  }
  std::vector<Phase> phases;
  for (auto at = changes.begin(); at != changes.end(); ++at) {
    const auto next = std::next(at);
    Phase phase{*at, (next == changes.end() ? s.steps : *next) - *at, {}};
    for (std::size_t e = 0; e < s.events.size(); ++e)
      if (s.events[e].steps.holds(*at)) phase.events.push_back(e);
    phases.push_back(std::move(phase));
  }
  return phases;
}

Duration move_time(const Scenario& s, const Partition& from, const Partition& to) {
  const Schedule schedule = schedule_of(s);
  const auto owner = [&](const Partition& p, std::int64_t layer) {
    for (std::size_t stage = 0; stage < p.stages.size(); ++stage)
      if (layer >= p.stages[stage].first_layer && layer < p.stages[stage].first_layer + p.stages[stage].num_layers)
        return schedule.stage_ranks[stage].front().value;
    return 0;
  };
  std::vector<std::int64_t> out(static_cast<std::size_t>(s.parallelism.pp));
  std::vector<std::int64_t> in(out.size());
  const Parallelism& p = s.parallelism;
  for (std::int64_t layer = 0; layer < s.model.num_layers(); ++layer) {
    const auto source = static_cast<std::size_t>(owner(from, layer));
    const auto target = static_cast<std::size_t>(owner(to, layer));
    if (source == target) continue;
    const ParamCount count = layer_params(s.model.hidden_size, s.model.layer(layer));
    const RankMemory state = model_state({count.tp_sharded / p.tp + count.replicated, count.routed / (p.ep * p.etp), 0},
                                         p, s.optimizer, s.precision);
    const std::int64_t bytes = state.weights.count + state.optimizer.count;
    out[source] += bytes;
    in[target] += bytes;
  }
  const std::int64_t most =
      std::max(*std::max_element(out.begin(), out.end()), *std::max_element(in.begin(), in.end()));
  if (most == 0) return {};
  const NodeSpec& node = s.cluster.node;
  const Bandwidth port = node.nics == 0
                             ? node.scale_up.bandwidth
                             : node.nic.bandwidth * (static_cast<double>(node.nics) / static_cast<double>(node.gpus));
  return Bytes{most} / port;
}

void pause(RunRecords& records, std::size_t step, Duration d, Share share, std::int64_t ranks) {
  records.steps[step].makespan += d;
  records.steps[step].ledger_sum[share] += d * ranks;
  if (step == 0)
    for (LedgerRow& row : records.rank_rows) row[share] += d;
}

OverTime run_over_time(const Scenario& scenario, LoadSource* loads, const RunOptions& options, const AlignRule& align) {
  return Runner(scenario, loads, options, align).run();
}

} // namespace tessella
