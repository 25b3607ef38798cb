#include "sim/exec/lower.h"

#include <algorithm>
#include <set>

#include "sim/base/check.h"
#include "sim/exec/owners.h"
#include "sim/exec/pair_order.h"
#include "sim/exec/positions.h"

namespace tessella {
namespace {

// Turns chains of costs into ops, sharing names and curves.
class OpTable {
 public:
  explicit OpTable(Program& program) : program_(program) {}

  PieceOps piece(const OpChain& chain, std::int32_t moe_layer) {
    PieceOps p;
    for (const OpCost& c : chain.forward) p.forward.push_back({op(c, moe_layer), c.role});
    for (const OpCost& c : chain.backward) p.backward.push_back({op(c, moe_layer), c.role});
    for (const OpCost& c : chain.wgrad) p.wgrad.push_back({op(c, moe_layer), c.role});
    return p;
  }

 private:
  Op op(const OpCost& cost, std::int32_t moe_layer) {
    Op op;
    op.cls = cost.cls;
    op.sync_width = static_cast<std::int32_t>(cost.sync_width);
    op.provenance = cost.provenance;
    op.duration = cost.duration;
    op.name = name(cost.name);
    op.beside_waiting = Pace::slowed_by(cost.contention.waiting);
    op.beside_moving = Pace::slowed_by(cost.contention.moving);
    if (!cost.by_load) return op;
    op.work = cost.cls == OpClass::compute ? WorkKind::rank_load : WorkKind::hottest_load;
    op.curve = curve(*cost.by_load);
    op.moe_layer = moe_layer;
    return op;
  }

  std::int32_t name(const std::string& text) {
    auto& names = program_.op_names;
    const auto it = std::find(names.begin(), names.end(), text);
    if (it != names.end()) return static_cast<std::int32_t>(it - names.begin());
    names.push_back(text);
    return static_cast<std::int32_t>(names.size() - 1);
  }

  std::int32_t curve(const LoadCurve& c) {
    const auto it = std::find(curves_.begin(), curves_.end(), c);
    if (it != curves_.end()) return static_cast<std::int32_t>(it - curves_.begin());
    curves_.push_back(c);
    program_.curves.emplace_back(c);
    return static_cast<std::int32_t>(curves_.size() - 1);
  }

  Program& program_;
  std::vector<LoadCurve> curves_;
};

// Ordinal of each decoder layer among the MoE layers; MTP layers follow.
std::vector<std::int32_t> moe_ordinals(const Model& model) {
  std::vector<std::int32_t> ordinal;
  std::int32_t next = 0;
  for (std::int64_t l = 0; l < model.num_layers(); ++l) {
    ordinal.push_back(next);
    if (moe_of(model.layer(l))) ++next;
  }
  for (std::int64_t m = 0; m < model.mtp_num_layers; ++m) {
    ordinal.push_back(next);
    if (moe_of(model.mtp_layer())) ++next;
  }
  return ordinal;
}

// The pieces of every stage, in forward order: embedding, decoder layers, MTP blocks, head.
std::vector<std::vector<PieceOps>> segments(const Scenario& s, const ModelOps& ops, OpTable& table) {
  const Model& model = s.model;
  const std::vector<std::int32_t> ordinal = moe_ordinals(model);
  std::vector<std::vector<PieceOps>> stages;
  std::int64_t next_mtp = model.num_layers();
  for (const StageContent& content : s.partition.stages) {
    std::vector<PieceOps>& pieces = stages.emplace_back();
    if (content.embedding) pieces.push_back(table.piece(ops.embedding, 0));
    for (std::int32_t l = content.first_layer; l < content.first_layer + content.num_layers; ++l) {
      const auto kind = static_cast<std::size_t>(model.layers[static_cast<std::size_t>(l)]);
      pieces.push_back(table.piece(ops.kinds[kind], ordinal[static_cast<std::size_t>(l)]));
    }
    for (std::int32_t m = 0; m < content.mtp_layers; ++m, ++next_mtp) {
      pieces.push_back(table.piece(ops.mtp_extra, 0));
      pieces.push_back(table.piece(ops.kinds[static_cast<std::size_t>(model.mtp_kind)],
                                   ordinal[static_cast<std::size_t>(next_mtp)]));
    }
    if (content.loss) pieces.push_back(table.piece(ops.head, 0));
  }
  return stages;
}

void append(Template& t, const std::vector<PieceOps::Item>& items) {
  for (const PieceOps::Item& item : items) t.ops.push_back(item.op);
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

void add_pairs(Program& program, const std::vector<std::vector<PieceOps>>& stages, bool delay_wgrad) {
  std::set<std::pair<std::int32_t, std::int32_t>> pairs; // (F stage, B stage)
  for (const auto& slots : program.schedule.ranks)
    for (const Slot& slot : slots)
      if (slot.second) pairs.insert({slot.first.stage.value, slot.second->stage.value});
  for (const auto& [f, b] : pairs) {
    const auto at = [&](std::int32_t stage, ActionKind kind) {
      return program.stage_templates[static_cast<std::size_t>(stage)][static_cast<std::size_t>(kind)];
    };
    program.pair_templates[{at(f, ActionKind::F), at(b, ActionKind::B)}] =
        static_cast<std::int32_t>(program.templates.size());
    program.templates.push_back(
        pair_template(stages[static_cast<std::size_t>(f)], stages[static_cast<std::size_t>(b)], delay_wgrad));
  }
}

} // namespace

Program lower(const Scenario& scenario, const Schedule& schedule, const ModelOps& ops) {
  TSL_CHECK_OP(scenario.partition.stages.size(), ==, static_cast<std::size_t>(schedule.num_stages));
  Program program = bare_program(scenario, schedule);
  OpTable table(program);
  const std::vector<std::vector<PieceOps>> stages = segments(scenario, ops, table);
  for (const std::vector<PieceOps>& pieces : stages) {
    const auto at = static_cast<std::int32_t>(program.templates.size());
    for (Template& t : stage_templates(pieces)) program.templates.push_back(std::move(t));
    program.stage_templates.push_back({at, at + 1, at + 2, at + 3});
  }
  add_pairs(program, stages, scenario.schedule.delay_wgrad_compute);
  program.p2p_flight = ops.p2p_latency + ops.p2p_message / ops.p2p_bandwidth;
  cost_positions(scenario, program);
  return program;
}

} // namespace tessella
