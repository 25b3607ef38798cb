#include "sim/exec/pieces.h"

#include <algorithm>

namespace tessella {
namespace {

Duration recomputed(const OpCost& op) {
  Duration sum;
  if (op.cls != OpClass::compute || op.sync_width != 1) return sum;
  for (const OpDetail& d : op.details)
    if (d.name.rfind("rc_", 0) == 0) sum += d.duration;
  return sum;
}

} // namespace

PieceTable::PieceTable(const Scenario& scenario, const ModelOps& ops, Program& program)
    : scenario_(scenario), ops_(ops), program_(program) {
  const Model& model = scenario.model;
  std::int32_t next = 0;
  for (std::int64_t l = 0; l < model.num_layers() + model.mtp_num_layers; ++l) {
    moe_ordinal_.push_back(next);
    if (moe_of(l < model.num_layers() ? model.layer(l) : model.mtp_layer())) ++next;
  }
}

std::vector<PieceOps> PieceTable::pieces_of(const StageContent& content) {
  const Model& model = scenario_.model;
  std::vector<PieceOps> pieces;
  if (content.embedding) pieces.push_back(piece(ops_.embedding, 0, PieceKind::embedding));
  for (std::int32_t l = content.first_layer; l < content.first_layer + content.num_layers; ++l) {
    const auto layer = static_cast<std::size_t>(l);
    pieces.push_back(piece(ops_.kinds[static_cast<std::size_t>(model.layers[layer])], moe_ordinal_[layer]));
  }
  // MTP blocks are numbered from the end of the decoder; a stage holds the first ones or all of them.
  for (std::int32_t m = 0; m < content.mtp_layers; ++m) {
    const std::size_t layer = model.layers.size() + static_cast<std::size_t>(m);
    pieces.push_back(piece(ops_.mtp_extra, 0, PieceKind::mtp));
    pieces.push_back(piece(ops_.kinds[static_cast<std::size_t>(model.mtp_kind)], moe_ordinal_[layer]));
  }
  if (content.loss) pieces.push_back(piece(ops_.head, 0, PieceKind::head));
  return pieces;
}

PieceOps PieceTable::piece(const OpChain& chain, std::int32_t moe_layer, PieceKind kind) {
  PieceOps p;
  p.kind = kind;
  for (const OpCost& c : chain.forward) p.forward.push_back({op(c, moe_layer), c.role, {}});
  for (const OpCost& c : chain.backward) p.backward.push_back({op(c, moe_layer), c.role, recomputed(c)});
  for (const OpCost& c : chain.wgrad) {
    p.wgrad.push_back({op(c, moe_layer), c.role, {}});
    if (c.cls == OpClass::compute && c.sync_width == 1) p.wgrad.back().op.weight = ++program_.num_weights;
  }
  return p;
}

Op PieceTable::op(const OpCost& cost, std::int32_t moe_layer) {
  Op op;
  op.cls = cost.cls;
  op.sync_width = static_cast<std::int32_t>(cost.sync_width);
  op.provenance = cost.provenance;
  op.duration = cost.duration;
  op.name = name(cost.name);
  op.beside_waiting = Pace::slowed_by(cost.contention.waiting);
  op.beside_moving = Pace::slowed_by(cost.contention.moving);
  if (cost.cls == OpClass::ep) op.beside_compute = Pace::slowed_by(ops_.exchange_beside_compute);
  if (!cost.by_load) return op;
  op.work = cost.cls == OpClass::compute ? WorkKind::rank_load : WorkKind::hottest_load;
  op.curve = curve(*cost.by_load);
  op.moe_layer = moe_layer;
  return op;
}

std::int32_t PieceTable::name(const std::string& text) {
  auto& names = program_.op_names;
  const auto it = std::find(names.begin(), names.end(), text);
  if (it != names.end()) return static_cast<std::int32_t>(it - names.begin());
  names.push_back(text);
  return static_cast<std::int32_t>(names.size() - 1);
}

std::int32_t PieceTable::curve(const LoadCurve& c) {
  const auto it = std::find(curves_.begin(), curves_.end(), c);
  if (it != curves_.end()) return static_cast<std::int32_t>(it - curves_.begin());
  curves_.push_back(c);
  program_.curves.emplace_back(c);
  return static_cast<std::int32_t>(curves_.size() - 1);
}

} // namespace tessella
