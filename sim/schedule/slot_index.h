// Where in a schedule an action stands, and which actions it needs and feeds. Shared by the validator, the replay and
// the lowering to sends and receives. Built in O(actions), queried in O(1).
//
//   F(s,j) needs F(s-1,j);  B or I (s,j) needs F(s,j) and B or I (s+1,j);  W(s,j) needs I(s,j)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/domain/schedule.h"

namespace tessella {

// One cell of the grid: the slot-th entry of a rank's list.
struct SlotRef {
  PpRank rank;
  std::int32_t slot = 0;
  constexpr auto operator<=>(const SlotRef&) const = default;
};

// B and I play the same part in the dependencies: both hand a gradient to the stage before.
enum class Pass : std::uint8_t { forward, backward, weight };

constexpr Pass pass_of(ActionKind kind) {
  if (kind == ActionKind::F) return Pass::forward;
  return kind == ActionKind::W ? Pass::weight : Pass::backward;
}

// Calls visit(pass, stage, micro_batch) for each action that `a` needs: at most two.
template <class Visit>
void for_each_need(const Action& a, std::int32_t num_stages, Visit visit) {
  const std::int32_t s = a.stage.value;
  const std::int32_t j = a.micro_batch.value;
  switch (pass_of(a.kind)) {
  case Pass::forward:
    if (s > 0) visit(Pass::forward, s - 1, j);
    break;
  case Pass::backward:
    visit(Pass::forward, s, j);
    if (s + 1 < num_stages) visit(Pass::backward, s + 1, j);
    break;
  case Pass::weight:
    visit(Pass::backward, s, j);
    break;
  }
}

// Calls visit(pass, stage, micro_batch) for each action that needs `a`: at most two.
template <class Visit>
void for_each_user(const Action& a, std::int32_t num_stages, Visit visit) {
  const std::int32_t s = a.stage.value;
  const std::int32_t j = a.micro_batch.value;
  if (a.kind == ActionKind::F) {
    visit(Pass::backward, s, j);
    if (s + 1 < num_stages) visit(Pass::forward, s + 1, j);
  } else if (a.kind != ActionKind::W) {
    if (a.kind == ActionKind::I) visit(Pass::weight, s, j);
    if (s > 0) visit(Pass::backward, s - 1, j);
  }
}

template <class Visit>
void for_each_action(const Slot& slot, Visit visit) {
  visit(slot.first);
  if (slot.second) visit(*slot.second);
}

class SlotIndex {
 public:
  // Of an action that occurs twice the last place is kept; stages and micro-batches must be in range.
  explicit SlotIndex(const Schedule& schedule);

  std::optional<SlotRef> find(Pass pass, std::int32_t stage, std::int32_t micro_batch) const {
    return at_[static_cast<std::size_t>(pass)][key(stage, micro_batch)];
  }

 private:
  std::size_t key(std::int32_t stage, std::int32_t micro_batch) const {
    return static_cast<std::size_t>(stage) * num_micro_batches_ + static_cast<std::size_t>(micro_batch);
  }

  std::size_t num_micro_batches_;
  std::array<std::vector<std::optional<SlotRef>>, 3> at_; // [pass][stage * m + micro-batch]
};

} // namespace tessella
