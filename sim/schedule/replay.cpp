#include "sim/schedule/replay.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/schedule/slot_index.h"

namespace tessella {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

class Player {
 public:
  Player(const Schedule& schedule, const ReplayTimes& times)
      : schedule_(schedule), times_(times), index_(schedule), next_(at(schedule.num_ranks)), awake_() {
    const std::size_t stages = at(schedule.num_stages);
    TSL_CHECK(times.stages.size() == 1 || times.stages.size() == stages);
    TSL_CHECK(times.pairs.size() <= 1 || times.pairs.size() == stages * stages);
    result_.ranks.resize(at(schedule.num_ranks));
    for (std::size_t r = 0; r < result_.ranks.size(); ++r) {
      result_.ranks[r].start.reserve(schedule.ranks[r].size());
      result_.ranks[r].end.reserve(schedule.ranks[r].size());
    }
  }

  Replay run() {
    for (std::size_t r = 0; r < next_.size(); ++r) awake_.push_back(r);
    while (!awake_.empty()) {
      const std::size_t rank = awake_.back();
      awake_.pop_back();
      while (step(rank)) {
      }
    }
    for (std::size_t r = 0; r < next_.size(); ++r) {
      TSL_CHECK_OP(next_[r], ==, schedule_.ranks[r].size());
      result_.makespan = std::max(result_.makespan, result_.ranks[r].last_end());
    }
    return std::move(result_);
  }

 private:
  // When the slot may start, or false when something it needs has not run.
  bool ready(std::size_t rank, const Slot& slot, std::int64_t& start) const {
    bool all = true;
    for_each_action(slot, [&](const Action& a) {
      for_each_need(a, schedule_.num_stages, [&](Pass pass, std::int32_t s, std::int32_t j) {
        const SlotRef need = index_.find(pass, s, j).value();
        const std::size_t from = at(need.rank.value);
        if (next_[from] <= at(need.slot)) {
          all = false;
          return;
        }
        const std::int64_t comm = from == rank ? 0 : times_.comm;
        start = std::max(start, result_.ranks[from].end[at(need.slot)] + comm);
      });
    });
    return all;
  }

  std::int64_t duration(const Action& a) const {
    if (schedule_.is_shadow(a.micro_batch)) return times_.shadow;
    const StageTimes& t = times_.stages[times_.stages.size() == 1 ? 0 : at(a.stage.value)];
    switch (a.kind) {
    case ActionKind::F:
      return t.f;
    case ActionKind::B:
      return t.b;
    case ActionKind::I:
      return t.i;
    case ActionKind::W:
      break;
    }
    return t.w;
  }

  std::int64_t duration(const Slot& slot) const {
    if (!slot.second) return duration(slot.first);
    const bool first_is_shadow = schedule_.is_shadow(slot.first.micro_batch);
    const bool second_is_shadow = schedule_.is_shadow(slot.second->micro_batch);
    if (first_is_shadow) return duration(*slot.second);
    if (second_is_shadow) return duration(slot.first);
    if (times_.pairs.empty()) return duration(slot.first) + duration(*slot.second);
    if (times_.pairs.size() == 1) return times_.pairs.front();
    return times_.pairs[at(slot.first.stage.value) * at(schedule_.num_stages) + at(slot.second->stage.value)];
  }

  bool step(std::size_t rank) {
    const auto& slots = schedule_.ranks[rank];
    if (next_[rank] == slots.size()) return false;
    const Slot& slot = slots[next_[rank]];
    RankReplay& out = result_.ranks[rank];
    std::int64_t start = out.last_end();
    if (!ready(rank, slot, start)) return false;
    const std::int64_t length = duration(slot);
    out.start.push_back(start);
    out.end.push_back(start + length);
    out.busy += length;
    ++next_[rank];
    wake_users(rank, slot);
    return true;
  }

  void wake_users(std::size_t rank, const Slot& slot) {
    for_each_action(slot, [&](const Action& a) {
      for_each_user(a, schedule_.num_stages, [&](Pass pass, std::int32_t s, std::int32_t j) {
        const SlotRef user = index_.find(pass, s, j).value();
        const std::size_t to = at(user.rank.value);
        if (to != rank && next_[to] == at(user.slot)) awake_.push_back(to);
      });
    });
  }

  const Schedule& schedule_;
  const ReplayTimes& times_;
  SlotIndex index_;
  std::vector<std::size_t> next_; // [rank] the slot to run next
  std::vector<std::size_t> awake_;
  Replay result_;
};

void count_live(const std::vector<Slot>& slots, RankReplay& out) {
  std::int32_t live_w = 0;
  std::int32_t live_i = 0;
  for (const Slot& slot : slots) {
    for_each_action(slot, [&](const Action& a) {
      switch (a.kind) {
      case ActionKind::F:
        out.peak_freed_at_w = std::max(out.peak_freed_at_w, ++live_w);
        out.peak_freed_at_i = std::max(out.peak_freed_at_i, ++live_i);
        break;
      case ActionKind::B:
        --live_w;
        --live_i;
        break;
      case ActionKind::I:
        --live_i;
        break;
      case ActionKind::W:
        --live_w;
        break;
      }
    });
  }
}

} // namespace

double Replay::bubble_fraction() const {
  if (makespan == 0) return 0.0;
  double idle_time = 0.0;
  for (std::size_t r = 0; r < ranks.size(); ++r) idle_time += static_cast<double>(idle(r));
  return idle_time / (static_cast<double>(makespan) * static_cast<double>(ranks.size()));
}

Replay replay(const Schedule& schedule, const ReplayTimes& times) {
  Replay result = Player(schedule, times).run();
  for (std::size_t r = 0; r < result.ranks.size(); ++r) count_live(schedule.ranks[r], result.ranks[r]);
  return result;
}

} // namespace tessella
