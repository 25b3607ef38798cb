#include "sim/exec/lower.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "sim/base/check.h"
#include "sim/cost/activation.h"
#include "sim/exec/owners.h"
#include "sim/exec/pair_order.h"
#include "sim/exec/pieces.h"
#include "sim/exec/positions.h"

namespace tessella {
namespace {

// At an expert exchange a rank may fill its wait.
void append(Template& t, const std::vector<PieceOps::Item>& items) {
  bool after_moe = false;
  for (const PieceOps::Item& item : items) {
    t.ops.push_back(item.op);
    if (item.op.cls == OpClass::ep) {
      t.ops.back().fill_point = 1;
      t.ops.back().after_moe = after_moe;
    }
    after_moe = item.role == Role::experts;
  }
}

// Of one rank's share of a micro-batch at balanced load.
ActivationShape balanced_shape(const Scenario& s) {
  return {s.tokens_per_tp_group(),
          s.parallelism.tp,
          s.parallelism.etp,
          s.parallelism.sequence_parallel,
          s.precision,
          true,
          1.0};
}

// What a deferred weight gradient keeps: an even share of what its stage keeps for one micro-batch.
std::vector<std::int64_t> held_bytes(const Scenario& s, const std::vector<std::vector<PieceOps>>& stages) {
  std::vector<std::int64_t> held;
  const ActivationShape shape = balanced_shape(s);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    std::int64_t movable = 0;
    for (const PieceOps& p : stages[i])
      for (const PieceOps::Item& item : p.wgrad) movable += item.op.weight > 0 ? 1 : 0;
    const double kept = stage_activation(s.model, s.partition.stages[i], shape, s.recompute).kept;
    held.push_back(movable == 0 ? 0 : std::llround(kept / static_cast<double>(movable)));
  }
  return held;
}

// Numbers the recomputations of each stage in the order of its backward. Each holds an even share of the activations
// that recomputing spares the stage.
void number_ahead(const Scenario& s, std::vector<std::vector<PieceOps>>& stages, Program& program) {
  const ActivationShape shape = balanced_shape(s);
  program.ahead.resize(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    std::vector<AheadWork>& ahead = program.ahead[i];
    for (auto p = stages[i].rbegin(); p != stages[i].rend(); ++p)
      for (PieceOps::Item& item : p->backward) {
        if (item.recomputed == Duration{}) continue;
        ahead.push_back(
            {item.recomputed, 0, item.op.name, item.op.beside_waiting, item.op.beside_moving, item.op.provenance});
        item.op.ahead = static_cast<std::int32_t>(ahead.size());
      }
    const StageContent& content = s.partition.stages[i];
    const double spared = stage_activation(s.model, content, shape, {}).kept -
                          stage_activation(s.model, content, shape, s.recompute).kept;
    for (AheadWork& w : ahead) w.bytes = std::llround(std::ceil(spared / static_cast<double>(ahead.size())));
  }
}

// F, B, I and W of one stage, indexed by ActionKind.
std::array<Template, 4> stage_templates(const std::vector<PieceOps>& pieces) {
  std::array<Template, 4> t;
  auto& [forward, backward, input_grad, weight_grad] = t;
  for (const PieceOps& p : pieces) append(forward, p.forward);
  for (auto p = pieces.rbegin(); p != pieces.rend(); ++p) {
    append(backward, p->backward);
    append(backward, p->wgrad);
    append(input_grad, p->backward);
    append(weight_grad, p->wgrad);
  }
  return t;
}

std::vector<PieceOps> without_wgrad(std::vector<PieceOps> pieces) {
  for (PieceOps& piece : pieces) piece.wgrad.clear();
  return pieces;
}

// Plans are for forwards beside full backwards; beside an input gradient, which only imported schedules pair, the order
// is Megatron's.
void add_pairs(Program& program, const std::vector<std::vector<PieceOps>>& stages, bool delay_wgrad,
               const PairPlans& plans) {
  std::set<std::tuple<std::int32_t, std::int32_t, ActionKind>> pairs; // (F stage, B or I stage, which)
  for (const auto& slots : program.schedule.ranks)
    for (const Slot& slot : slots)
      if (slot.second) pairs.insert({slot.first.stage.value, slot.second->stage.value, slot.second->kind});
  const auto at = [&](std::int32_t stage, ActionKind kind) {
    return program.stage_templates[static_cast<std::size_t>(stage)][static_cast<std::size_t>(kind)];
  };
  for (const auto& pair_of_stages : pairs) {
    const auto f = std::get<0>(pair_of_stages);
    const auto b = std::get<1>(pair_of_stages);
    const ActionKind kind = std::get<2>(pair_of_stages);
    program.pair_templates[{at(f, ActionKind::F), at(b, kind)}] = static_cast<std::int32_t>(program.templates.size());
    const std::vector<PieceOps>& backward = stages[static_cast<std::size_t>(b)];
    const PairTasks pair =
        pair_tasks(stages[static_cast<std::size_t>(f)], kind == ActionKind::B ? backward : without_wgrad(backward),
                   {ActionKind::F, ActionKind::B}, delay_wgrad);
    const auto planned = kind == ActionKind::B ? plans.find({f, b}) : plans.end();
    program.templates.push_back(
        lower_pair(pair, planned == plans.end() ? megatron_order(pair.tasks, pair.passes) : planned->second));
  }
}

} // namespace

Program lower(const Scenario& scenario, const Schedule& schedule, const ModelOps& ops, const PairPlans& plans) {
  TSL_CHECK_OP(scenario.partition.stages.size(), ==, static_cast<std::size_t>(schedule.num_stages));
  Program program = bare_program(scenario, schedule);
  PieceTable table(scenario, ops, program);
  std::vector<std::vector<PieceOps>> stages;
  for (const StageContent& content : scenario.partition.stages) stages.push_back(table.pieces_of(content));
  if (scenario.bubble_filler.moves(Movable::recompute)) number_ahead(scenario, stages, program);
  for (const std::vector<PieceOps>& pieces : stages) {
    const auto at = static_cast<std::int32_t>(program.templates.size());
    for (Template& t : stage_templates(pieces)) program.templates.push_back(std::move(t));
    program.stage_templates.push_back({at, at + 1, at + 2, at + 3});
  }
  add_pairs(program, stages, scenario.schedule.delay_wgrad_compute, plans);
  number_fill_points(program);
  program.held_bytes = held_bytes(scenario, stages);
  program.p2p_flight = ops.p2p_latency + ops.p2p_message / ops.p2p_bandwidth;
  cost_positions(scenario, program);
  add_spare_work(scenario, ops.streaming, program);
  return program;
}

} // namespace tessella
