#include "sim/planner/overlap/pair_chunks.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.h"
#include "sim/exec/pieces.h"

namespace tessella {
namespace {

// Replaces what depends on the load by what it is at balanced load.
void balance(std::vector<PieceOps::Item>& items, const Program& program, std::int64_t rows) {
  for (PieceOps::Item& item : items) {
    if (item.op.work == WorkKind::fixed) continue;
    item.op.duration = program.curves[static_cast<std::size_t>(item.op.curve)].at(rows);
    item.op.work = WorkKind::fixed;
  }
}

PieceOps balanced(PieceOps piece, const Program& program, std::int64_t rows) {
  balance(piece.forward, program, rows);
  balance(piece.backward, program, rows);
  balance(piece.wgrad, program, rows);
  return piece;
}

std::int64_t rows_of(const Scenario& scenario, const LayerKind& kind) {
  const MoeFfn* moe = moe_of(kind);
  return moe == nullptr ? 0 : routed_rows(scenario, *moe);
}

Duration sum(const std::vector<PieceOps::Item>& items) {
  Duration total;
  for (const PieceOps::Item& item : items) total += item.op.duration;
  return total;
}

std::string piece_text(const PieceOps& piece) {
  std::string text;
  for (const auto& [name, items] :
       {std::pair("F", &piece.forward), std::pair("B", &piece.backward), std::pair("W", &piece.wgrad)})
    for (const PieceOps::Item& item : *items)
      text += fmt::format("{} {} {} {} {}\n", name, tessella::name(item.role), item.op.cls == OpClass::ep ? "ep" : "-",
                          item.op.duration.ps,
                          (item.op.cls == OpClass::ep ? item.op.beside_compute : item.op.beside_moving).slowdown());
  return text;
}

} // namespace

ChunkSpec chunk_spec(const Model& model, const StageContent& stage) {
  ChunkSpec spec{{}, stage.mtp_layers, stage.embedding, stage.loss};
  const auto first = model.layers.begin() + stage.first_layer;
  spec.kinds.assign(first, first + stage.num_layers);
  return spec;
}

std::string to_text(const ChunkSpec& spec, const Model& model) {
  std::string text;
  const auto add = [&](std::ptrdiff_t count, const std::string& what) {
    if (!text.empty()) text += '+';
    text += count == 1 ? what : fmt::format("{}*{}", count, what);
  };
  if (spec.embedding) add(1, "embedding");
  for (auto k = spec.kinds.begin(); k != spec.kinds.end();) {
    const auto end = std::find_if(k, spec.kinds.end(), [&](std::int32_t other) { return other != *k; });
    add(end - k, model.kinds[static_cast<std::size_t>(*k)].name);
    k = end;
  }
  if (spec.mtp_layers > 0) add(spec.mtp_layers, "mtp");
  if (spec.head) add(1, "head");
  return text.empty() ? "empty" : text;
}

ChunkLibrary::ChunkLibrary(const Scenario& scenario, const ModelOps& ops)
    : model_(scenario.model), delay_wgrad_(scenario.schedule.delay_wgrad_compute) {
  const Parallelism& p = scenario.parallelism;
  topology_class_ = fmt::format("tp={} cp={} ep={} etp={} on {}", p.tp, p.cp, p.ep, p.etp, scenario.cluster.name);
  Program program; // holds the curves until they are read
  PieceTable table(scenario, ops, program);
  const auto one = [&](const StageContent& content, std::int64_t rows) {
    return balanced(table.pieces_of(content).front(), program, rows);
  };
  for (std::size_t k = 0; k < model_.kinds.size(); ++k) {
    const auto layer = std::find(model_.layers.begin(), model_.layers.end(), static_cast<std::int32_t>(k));
    const auto first = static_cast<std::int32_t>(layer - model_.layers.begin());
    kinds_.push_back(layer == model_.layers.end()
                         ? PieceOps{}
                         : one({first, 1, 0, false, false}, rows_of(scenario, model_.kinds[k])));
  }
  embedding_ = one({0, 0, 0, true, false}, 0);
  head_ = one({0, 0, 0, false, true}, 0);
  if (model_.mtp_num_layers == 0) return;
  for (PieceOps& piece : table.pieces_of({0, 0, 1, false, false}))
    mtp_.push_back(balanced(std::move(piece), program, rows_of(scenario, model_.mtp_layer())));
}

std::vector<PieceOps> ChunkLibrary::pieces(const ChunkSpec& spec) const {
  TSL_CHECK(spec.mtp_layers == 0 || !mtp_.empty());
  std::vector<PieceOps> pieces;
  if (spec.embedding) pieces.push_back(embedding_);
  for (const std::int32_t k : spec.kinds) pieces.push_back(kinds_[static_cast<std::size_t>(k)]);
  for (std::int32_t m = 0; m < spec.mtp_layers; ++m) pieces.insert(pieces.end(), mtp_.begin(), mtp_.end());
  if (spec.head) pieces.push_back(head_);
  return pieces;
}

PairTasks ChunkLibrary::tasks(const ChunkSpec& first, const ChunkSpec& second, const PairPasses& passes) const {
  return pair_tasks(pieces(first), pieces(second), passes, delay_wgrad_);
}

PairProblem ChunkLibrary::problem(const ChunkSpec& first, const ChunkSpec& second, const PairPasses& passes) const {
  return pair_problem(tasks(first, second, passes));
}

Duration ChunkLibrary::alone(const ChunkSpec& spec, ActionKind pass) const {
  Duration total;
  for (const PieceOps& piece : pieces(spec)) {
    if (pass == ActionKind::F) total += sum(piece.forward);
    if (pass == ActionKind::B || pass == ActionKind::I) total += sum(piece.backward);
    if (pass == ActionKind::B || pass == ActionKind::W) total += sum(piece.wgrad);
  }
  return total;
}

std::string ChunkLibrary::text() const {
  std::string text = fmt::format("{}\ndelay_wgrad {}\n", topology_class_, delay_wgrad_);
  for (std::size_t k = 0; k < kinds_.size(); ++k)
    text += fmt::format("kind {}\n{}", model_.kinds[k].name, piece_text(kinds_[k]));
  text += fmt::format("embedding\n{}head\n{}", piece_text(embedding_), piece_text(head_));
  for (const PieceOps& piece : mtp_) text += fmt::format("mtp\n{}", piece_text(piece));
  return text;
}

} // namespace tessella
