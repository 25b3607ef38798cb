#include "sim/planner/phases.h"

#include <algorithm>
#include <set>

#include "sim/cost/memory.h"
#include "sim/cost/params.h"
#include "sim/domain/workload_shape.h"
#include "sim/planner/handicaps.h"

namespace tessella {
namespace {

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

const Partition& partition_in(const Scenario& s, const Phase& phase, const Partition& planned) {
  const Partition* now = &planned;
  for (const std::size_t e : phase.events)
    if (const auto* move = std::get_if<MoveLayers>(&s.events[e].what)) now = &move->partition;
  return *now;
}

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

LoweredStep lower_phase(const Scenario& s, const Phase& phase, const Scenario& now, const Schedule& schedule,
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

} // namespace tessella
