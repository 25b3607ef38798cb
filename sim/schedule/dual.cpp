#include "sim/schedule/dual.h"

#include <cstddef>

#include "sim/base/check.h"
#include "sim/schedule/build.h"

namespace tessella {
namespace {

class Writer {
 public:
  explicit Writer(const DualRank& rank) : rank_(rank) {}

  void f(std::size_t phase) { push(next_f(phase)); }
  // A backward whose weight gradient is deferred when `split`.
  void b(std::size_t phase, bool split = false) {
    const Action a = next_b(phase, split ? ActionKind::I : ActionKind::B);
    push(a);
    if (split) pending_w_.push_back(a);
  }
  void fb(std::size_t forward, std::size_t backward) {
    const Action first = next_f(forward);
    slots_.push_back({first, next_b(backward, ActionKind::B)});
  }
  // The oldest deferred weight gradient.
  void w() {
    TSL_CHECK_OP(popped_w_, <, pending_w_.size());
    Action a = pending_w_[popped_w_++];
    a.kind = ActionKind::W;
    push(a);
  }

  std::vector<Slot> take() { return std::move(slots_); }

 private:
  void push(const Action& a) { slots_.push_back({a, std::nullopt}); }
  Action next_f(std::size_t phase) {
    return action(rank_.stage[phase], ActionKind::F, rank_.first_mb[phase] + forwards_[phase]++);
  }
  Action next_b(std::size_t phase, ActionKind kind) {
    return action(rank_.stage[phase], kind, rank_.first_mb[phase] + backwards_[phase]++);
  }

  const DualRank& rank_;
  std::array<std::int32_t, 2> forwards_{};
  std::array<std::int32_t, 2> backwards_{};
  std::vector<Action> pending_w_; // in the order of their I
  std::size_t popped_w_ = 0;
  std::vector<Slot> slots_;
};

// Step 6: (r+1) x (B1 B0). The second half of these backwards is split, to leave W for the tail.
void drain(Writer& out, std::int32_t r) {
  const std::int32_t middle = (r + 1) / 2;
  bool split = false;
  for (std::int32_t i = 0; i <= r; ++i) {
    if (i == middle && r % 2 == 1) split = true;
    out.b(1, split);
    if (i == middle && r % 2 == 0) split = true;
    out.b(0, split);
  }
}

} // namespace

std::vector<Slot> dual_rank_order(const DualRank& rank) {
  const std::int32_t r = rank.depth;
  const std::int32_t outer = rank.half - 1 - r; // ranks between this one and the turning point
  const std::int32_t pairs = rank.micro_batches - 2 * rank.half + r + 1;
  Writer out(rank);
  for (std::int32_t i = 0; i < 2 * outer; ++i) out.f(0);
  for (std::int32_t i = 0; i <= r; ++i) out.f(0), out.f(1);
  for (std::int32_t i = 0; i < outer; ++i) out.b(1, true), out.w(), out.f(1);
  for (std::int32_t i = 0; i < pairs; ++i) {
    if (i == 0 && rank.first_pair_unfused)
      out.f(0), out.b(1);
    else
      out.fb(0, 1);
    out.fb(1, 0);
  }
  for (std::int32_t i = 0; i < outer; ++i) out.b(1), out.fb(1, 0);
  drain(out, r);
  for (std::int32_t i = 0; i < outer; ++i) out.w(), out.b(0, true);
  for (std::int32_t i = 0; i <= r; ++i) out.w();
  return out.take();
}

} // namespace tessella
