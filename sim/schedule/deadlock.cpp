#include "sim/schedule/deadlock.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/base/check.h"

namespace tessella {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// A tensor on its way from the action that made it to the rank that uses it.
struct Message {
  std::size_t link = 0; // (sender, receiver, forward or backward)
  PpRank receiver;
};

class Ranks {
 public:
  Ranks(const Schedule& schedule, const SlotIndex& index, const std::optional<ReceiveBuffers>& buffers)
      : schedule_(schedule), index_(index), buffers_(buffers), state_(at(schedule.num_ranks)) {
    if (!buffers_) return;
    TSL_CHECK_OP(buffers_->forward.size(), ==, state_.size());
    TSL_CHECK_OP(buffers_->backward.size(), ==, state_.size());
    in_flight_.resize(2 * state_.size() * state_.size());
  }

  void run() {
    for (std::int32_t r = 0; r < schedule_.num_ranks; ++r) wake(PpRank{r});
    while (!awake_.empty()) {
      const PpRank rank = awake_.back();
      awake_.pop_back();
      state_[at(rank.value)].awake = false;
      while (step(rank)) {
      }
    }
  }

  bool finished(PpRank rank) const { return at(slot_of(rank)) == list(rank).size() && !state_[at(rank.value)].sending; }

  // What keeps an unfinished rank: the cell it stands at and the cell it waits for.
  struct Wait {
    SlotRef cell;
    SlotRef on;
    std::string why;
  };
  Wait wait_of(PpRank rank) const;

 private:
  struct State {
    std::int32_t slot = 0; // the next to run, or the one whose tensors are being sent
    bool sending = false;
    bool sent_first = false; // of a pair that sends two tensors
    bool awake = false;
  };

  const std::vector<Slot>& list(PpRank rank) const { return schedule_.ranks[at(rank.value)]; }
  std::int32_t slot_of(PpRank rank) const { return state_[at(rank.value)].slot; }

  void wake(PpRank rank) {
    State& state = state_[at(rank.value)];
    if (state.awake) return;
    state.awake = true;
    awake_.push_back(rank);
  }

  SlotRef producer(Pass pass, std::int32_t stage, std::int32_t micro_batch) const {
    return index_.find(pass, stage, micro_batch).value();
  }

  // The first thing the slot lacks, if any.
  std::optional<SlotRef> lacking(const Slot& slot) const {
    std::optional<SlotRef> result;
    for_each_action(slot, [&](const Action& a) {
      for_each_need(a, schedule_.num_stages, [&](Pass pass, std::int32_t s, std::int32_t j) {
        const SlotRef ref = producer(pass, s, j);
        if (!result && slot_of(ref.rank) <= ref.slot) result = ref;
      });
    });
    return result;
  }

  std::size_t link(PpRank from, PpRank to, bool forward) const {
    return 2 * (at(from.value) * state_.size() + at(to.value)) + (forward ? 0 : 1);
  }

  // The tensor an action sends to another rank, if it does.
  std::optional<Message> message(PpRank rank, const Action& a) const {
    if (a.kind == ActionKind::W) return std::nullopt;
    const bool forward = a.kind == ActionKind::F;
    const std::int32_t next = a.stage.value + (forward ? 1 : -1);
    if (next < 0 || next >= schedule_.num_stages) return std::nullopt;
    const PpRank to = producer(pass_of(a.kind), next, a.micro_batch.value).rank;
    if (to == rank) return std::nullopt;
    return Message{link(rank, to, forward), to};
  }

  std::int32_t capacity(const Message& m) const {
    return m.link % 2 == 0 ? buffers_->forward[at(m.receiver.value)] : buffers_->backward[at(m.receiver.value)];
  }

  bool step(PpRank rank) {
    State& state = state_[at(rank.value)];
    if (state.sending) return send(rank);
    if (at(state.slot) == list(rank).size()) return false;
    const Slot& slot = list(rank)[at(state.slot)];
    if (lacking(slot)) return false;
    if (buffers_) {
      for_each_action(slot, [&](const Action& a) { free_input(rank, a); });
      state.sending = true;
      return true;
    }
    advance(rank);
    return true;
  }

  void free_input(PpRank rank, const Action& a) {
    if (a.kind == ActionKind::W) return;
    const bool forward = a.kind == ActionKind::F;
    const std::int32_t before = a.stage.value + (forward ? -1 : 1);
    if (before < 0 || before >= schedule_.num_stages) return;
    const PpRank from = producer(pass_of(a.kind), before, a.micro_batch.value).rank;
    if (from == rank) return;
    --in_flight_[link(from, rank, forward)];
    wake(from);
  }

  bool deliver(PpRank rank, const Action& a) {
    const auto m = message(rank, a);
    if (!m) return true;
    if (in_flight_[m->link] >= capacity(*m)) return false;
    ++in_flight_[m->link];
    return true;
  }

  bool send(PpRank rank) {
    State& state = state_[at(rank.value)];
    const Slot& slot = list(rank)[at(state.slot)];
    if (!state.sent_first && !deliver(rank, slot.first)) return false;
    state.sent_first = true;
    if (slot.second && !deliver(rank, *slot.second)) return false;
    state.sending = state.sent_first = false;
    advance(rank);
    return true;
  }

  void advance(PpRank rank) {
    const Slot& slot = list(rank)[at(state_[at(rank.value)].slot++)];
    for_each_action(slot, [&](const Action& a) {
      for_each_user(a, schedule_.num_stages, [&](Pass pass, std::int32_t s, std::int32_t j) {
        const SlotRef user = producer(pass, s, j);
        if (user.rank != rank && slot_of(user.rank) == user.slot) wake(user.rank);
      });
    });
  }

  const Schedule& schedule_;
  const SlotIndex& index_;
  const std::optional<ReceiveBuffers>& buffers_;
  std::vector<State> state_;
  std::vector<std::int32_t> in_flight_; // [link]
  std::vector<PpRank> awake_;
};

std::string text_at(const Schedule& schedule, SlotRef ref) {
  return to_text(schedule.ranks[at(ref.rank.value)][at(ref.slot)]);
}

Ranks::Wait Ranks::wait_of(PpRank rank) const {
  const State& state = state_[at(rank.value)];
  const SlotRef cell{rank, state.slot};
  const Slot& slot = list(rank)[at(state.slot)];
  if (!state.sending) {
    const SlotRef on = lacking(slot).value();
    return {cell, on, fmt::format("waits for {} of rank {}", text_at(schedule_, on), on.rank.value)};
  }
  const Action& unsent = state.sent_first ? *slot.second : slot.first;
  const PpRank to = message(rank, unsent).value().receiver;
  const SlotRef on{to, slot_of(to)};
  return {cell, on, fmt::format("cannot send {}: rank {} has no free buffer", to_text(unsent), to.value)};
}

} // namespace

std::optional<ScheduleProblem> find_deadlock(const Schedule& schedule, const SlotIndex& index,
                                             const std::optional<ReceiveBuffers>& buffers) {
  Ranks ranks(schedule, index, buffers);
  ranks.run();
  PpRank rank{0};
  while (rank.value < schedule.num_ranks && ranks.finished(rank)) ++rank.value;
  if (rank.value == schedule.num_ranks) return std::nullopt;

  // A stuck rank waits for another stuck rank: follow until one comes back.
  std::vector<Ranks::Wait> path;
  const auto seen = [&] {
    return std::find_if(path.begin(), path.end(), [&](const auto& w) { return w.cell.rank == rank; });
  };
  while (seen() == path.end()) {
    path.push_back(ranks.wait_of(rank));
    rank = path.back().on.rank;
  }
  path.erase(path.begin(), seen());
  // Start at the earliest stuck cell: that is where a reader of the grid meets the problem first.
  const auto earlier = [](const auto& a, const auto& b) {
    return std::pair(a.cell.slot, a.cell.rank) < std::pair(b.cell.slot, b.cell.rank);
  };
  std::rotate(path.begin(), std::min_element(path.begin(), path.end(), earlier), path.end());

  ScheduleProblem problem{ScheduleFault::deadlock, "deadlock:", path.front().cell, {}};
  for (const Ranks::Wait& wait : path) {
    problem.message += fmt::format("{} rank {} slot {} ({}) {}", problem.cycle.empty() ? "" : ";", wait.cell.rank.value,
                                   wait.cell.slot, text_at(schedule, wait.cell), wait.why);
    if (wait.on.slot != ranks.wait_of(wait.on.rank).cell.slot)
      problem.message += fmt::format(", behind slot {} there", ranks.wait_of(wait.on.rank).cell.slot);
    problem.cycle.push_back(wait.cell);
  }
  return problem;
}

} // namespace tessella
