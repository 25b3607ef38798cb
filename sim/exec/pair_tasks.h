// The two actions of a pair as tasks: what one piece does in one go on one lane (names: sim/domain/pair_plan.h).
//
// Each action is a chain: a task may start when the one before it in the same action has ended. Weight gradients stand
// in the backward chain behind the input gradient they belong to; delayed, they leave it and are movable: they only
// follow that input gradient, and nothing follows them.
//
//   delayed      B_COMB > B_MLP > B_DISP > B_ATTN > ...      not delayed   B_COMB > B_MLP > B_WGRAD_MLP > B_DISP > ...
//                           |               |
//                      B_WGRAD_MLP     B_WGRAD_ATTN
//
// An exchange is slowed by the compute beside it (Op::beside_compute), for at most as long as the pair has compute:
// with C its compute, E its exchanges (both alone, balanced) and s the slowdown, exchanges take s E when that is at
// most C, else C + (E - C / s). The pair's exchanges share that factor.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "sim/domain/pair_plan.h"
#include "sim/exec/pieces.h"
#include "sim/exec/program.h"

namespace tessella {

struct PairTask {
  TaskId id;
  OpLane lane = OpLane::compute;
  bool movable = false;
  std::optional<std::size_t> after; // index of the task it follows; nothing: the first of its action
  bool operator==(const PairTask&) const = default;
};

struct PairTasks {
  PairPasses passes{ActionKind::F, ActionKind::B};
  // Each action in the order of its chain, movable tasks right behind the one they follow; the second action last.
  std::vector<PairTask> tasks;
  std::vector<std::vector<Op>> ops; // [task] run one after another on its lane
};

// `first` and `second` are the pieces of the two stages in forward order; passes are F or B. O(ops).
PairTasks pair_tasks(std::span<const PieceOps> first, std::span<const PieceOps> second, const PairPasses& passes,
                     bool delay_wgrad);

} // namespace tessella
