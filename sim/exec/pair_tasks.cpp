#include "sim/exec/pair_tasks.h"

#include <algorithm>

#include "sim/base/check.h"

namespace tessella {
namespace {

using Items = std::span<const PieceOps::Item>;

// Expert all-to-alls have their own lane; what blocks the compute lane stays on it.
OpLane lane_of(const Op& op) {
  return op.cls == OpClass::ep ? OpLane::ep : OpLane::compute;
}

TaskPart part_of(PieceKind kind, const PieceOps::Item& item) {
  if (kind == PieceKind::embedding) return TaskPart::embedding;
  if (kind == PieceKind::mtp) return TaskPart::mtp;
  if (kind == PieceKind::head) return TaskPart::head;
  switch (item.role) {
  case Role::attention:
  case Role::wgrad_attention:
    return TaskPart::attention;
  case Role::dispatch:
    return TaskPart::dispatch;
  case Role::experts:
  case Role::wgrad_experts:
    return TaskPart::experts;
  case Role::combine:
    break;
  }
  return lane_of(item.op) == OpLane::ep ? TaskPart::combine : TaskPart::join;
}

// Builds the chain of one action behind the tasks already there.
class ActionTasks {
 public:
  ActionTasks(PairTasks& pair, std::uint8_t half) : pair_(pair), half_(half) {}

  void begin_piece(PieceKind kind, std::int32_t index) {
    kind_ = kind;
    index_ = index;
    piece_begin_ = pair_.tasks.size();
  }
  // Neighbouring ops of one part and lane are one task of the chain.
  void add(Items items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const bool joins = i > 0 && part_of(kind_, items[i]) == part_of(kind_, items[i - 1]) &&
                         lane_of(items[i].op) == lane_of(items[i - 1].op);
      if (!joins) open(items[i], false, false);
      push(items[i].op);
    }
  }
  void add_wgrad(Items items, Role role, bool movable) {
    bool opened = false;
    for (const PieceOps::Item& item : items) {
      if (item.role != role) continue;
      if (!opened) open(item, true, movable && last_);
      opened = true;
      push(item.op);
    }
  }

 private:
  void open(const PieceOps::Item& first, bool wgrad, bool movable) {
    TaskId id{half_, wgrad, part_of(kind_, first), index_, 0};
    for (std::size_t t = piece_begin_; t < pair_.tasks.size(); ++t)
      if (pair_.tasks[t].id.part == id.part && pair_.tasks[t].id.weight_gradient == wgrad) ++id.again;
    pair_.tasks.push_back({id, lane_of(first.op), movable, last_});
    pair_.ops.emplace_back();
    if (!movable) last_ = pair_.tasks.size() - 1;
  }
  void push(Op op) {
    op.half = half_;
    op.lane = lane_of(op);
    pair_.ops.back().push_back(op);
  }

  PairTasks& pair_;
  std::uint8_t half_;
  std::optional<std::size_t> last_; // the end of the chain so far
  PieceKind kind_ = PieceKind::layer;
  std::int32_t index_ = 0;
  std::size_t piece_begin_ = 0;
};

void add_forward(PairTasks& pair, std::uint8_t half, std::span<const PieceOps> pieces) {
  ActionTasks action(pair, half);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    action.begin_piece(pieces[p].kind, static_cast<std::int32_t>(p));
    action.add(pieces[p].forward);
  }
}

// Weight gradients of the experts follow the last op of the experts, all others the end of the piece.
void add_backward(PairTasks& pair, std::uint8_t half, std::span<const PieceOps> pieces, bool delay_wgrad) {
  ActionTasks action(pair, half);
  for (std::size_t p = pieces.size(); p-- > 0;) {
    const PieceOps& piece = pieces[p];
    const Items all(piece.backward);
    const auto last_experts = std::find_if(piece.backward.rbegin(), piece.backward.rend(),
                                           [](const PieceOps::Item& i) { return i.role == Role::experts; });
    const auto split = static_cast<std::size_t>(piece.backward.rend() - last_experts);
    action.begin_piece(piece.kind, static_cast<std::int32_t>(p));
    action.add(all.first(split));
    action.add_wgrad(piece.wgrad, Role::wgrad_experts, delay_wgrad);
    action.add(all.subspan(split));
    action.add_wgrad(piece.wgrad, Role::wgrad_attention, delay_wgrad);
  }
}

// Exchanges that outlast the pair's compute run the rest of their way at full speed.
void ease_exchanges(PairTasks& pair) {
  double compute = 0.0, exchange = 0.0;
  for (const std::vector<Op>& ops : pair.ops)
    for (const Op& op : ops) (op.lane == OpLane::ep ? exchange : compute) += static_cast<double>(op.duration.ps);
  for (std::vector<Op>& ops : pair.ops)
    for (Op& op : ops) {
      const double slowdown = op.beside_compute.slowdown();
      if (op.lane != OpLane::ep || exchange * slowdown <= compute) continue;
      op.beside_compute = Pace::slowed_by(1.0 + compute / exchange * (1.0 - 1.0 / slowdown));
    }
}

} // namespace

PairTasks pair_tasks(std::span<const PieceOps> first, std::span<const PieceOps> second, const PairPasses& passes,
                     bool delay_wgrad) {
  PairTasks pair;
  pair.passes = passes;
  for (std::uint8_t half = 0; half < 2; ++half) {
    TSL_CHECK(passes[half] == ActionKind::F || passes[half] == ActionKind::B);
    const std::span<const PieceOps> pieces = half == 0 ? first : second;
    if (passes[half] == ActionKind::F)
      add_forward(pair, half, pieces);
    else
      add_backward(pair, half, pieces, delay_wgrad);
  }
  ease_exchanges(pair);
  return pair;
}

} // namespace tessella
