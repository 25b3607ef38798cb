#include "sim/planner/partition/schedule_windows.h"

#include <algorithm>
#include <limits>

namespace tessella {
namespace {

// The windows of a schedule.
class Windows {
 public:
  Windows(const Schedule& schedule, Duration flight) : s_(schedule), flight_(static_cast<double>(flight.ps)) {
    for (const auto& slots : s_.ranks)
      for (const Slot& slot : slots)
        if (slot.second || slot.first.kind == ActionKind::I) whole_ = false;
    for (const auto& slots : s_.ranks) add_rank(slots);
  }
  const std::vector<Window>& all() const { return all_; }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  bool real(const Action& a) const { return !s_.is_shadow(a.micro_batch); }
  static bool is_backward(const Action& a) { return a.kind == ActionKind::B || a.kind == ActionKind::I; }

  // The action of a slot that is of the wanted direction; nothing.
  const Action* find(const Slot& slot, bool backward) const {
    for (const Action* a : {&slot.first, slot.second ? &*slot.second : nullptr})
      if (a != nullptr && real(*a) && a->kind != ActionKind::W && is_backward(*a) == backward) return a;
    return nullptr;
  }

  Window empty() const { return {std::vector<Features>(static_cast<std::size_t>(s_.num_stages), Features{}), 0.0}; }

  static void take(Window& w, const Action& a, bool paired) {
    Features& f = w.stage[static_cast<std::size_t>(a.stage.value)];
    const std::size_t base = paired ? pair_f : alone_f;
    if (a.kind == ActionKind::F) f[base] += 1.0;
    if (is_backward(a)) f[base + 1] += 1.0;
    if (a.kind == ActionKind::B || a.kind == ActionKind::W) f[base + 2] += 1.0;
  }

  // One pass of the chain through stages [from, to), a message after each.
  void chain(Window& w, std::int32_t from, std::int32_t to, bool backward) const {
    for (std::int32_t t = from; t < to; ++t) {
      Features& f = w.stage[static_cast<std::size_t>(t)];
      f[backward ? alone_i : alone_f] += 1.0;
      if (backward && whole_) f[alone_w] += 1.0;
    }
    for (std::int32_t t = std::max(1, from); t < to; ++t)
      if (s_.stage_ranks[static_cast<std::size_t>(t - 1)] != s_.stage_ranks[static_cast<std::size_t>(t)])
        w.constant += flight_;
  }
  void before(Window& w, const Action& a) const {
    const std::int32_t s = a.stage.value;
    chain(w, 0, is_backward(a) ? s_.num_stages : s, false);
    if (is_backward(a)) chain(w, s + 1, s_.num_stages, true);
  }
  void after(Window& w, const Action& a) const {
    const std::int32_t s = a.stage.value;
    if (!is_backward(a)) chain(w, s + 1, s_.num_stages, false);
    chain(w, 0, is_backward(a) ? s : s_.num_stages, true);
  }
  void reduce_rank(Window& w, std::int32_t any_stage) const {
    const auto& ranks = s_.stage_ranks[static_cast<std::size_t>(any_stage)];
    for (std::size_t t = 0; t < s_.stage_ranks.size(); ++t)
      if (s_.stage_ranks[t] == ranks && ranks.size() == 1) w.stage[t][reduce] = 1.0;
  }

  // Slots of a rank; `start` and `stop` are actions whose slots bound the window, nothing: the rank's first and last.
  void add(const std::vector<Slot>& slots, std::size_t begin, const Action* start, std::size_t end,
           const Action* stop) {
    Window w = empty();
    if (start != nullptr) {
      before(w, *start);
      take(w, *start, false);
    }
    for (std::size_t i = start != nullptr ? begin + 1 : begin; i < end; ++i)
      for (const Action* a : {&slots[i].first, slots[i].second ? &*slots[i].second : nullptr})
        if (a != nullptr && real(*a)) take(w, *a, slots[i].second.has_value());
    if (stop != nullptr) {
      Action last = *stop;
      if (last.kind == ActionKind::B && !whole_) last.kind = ActionKind::I; // its weight gradient may come later
      take(w, last, false);
      after(w, *stop);
    }
    reduce_rank(w, stop != nullptr ? 0 : slots.front().first.stage.value);
    all_.push_back(std::move(w));
  }

  void add_rank(const std::vector<Slot>& slots) {
    if (slots.empty()) return;
    struct Cut {
      std::size_t at = kNone;
      const Action* action = nullptr;
    };
    std::array<Cut, 2> starts; // first forward, first backward
    std::array<Cut, 2> stops;  // last backward, last forward
    for (std::size_t i = 0; i < slots.size(); ++i)
      for (const bool backward : {false, true})
        if (const Action* a = find(slots[i], backward)) {
          if (starts[backward ? 1 : 0].action == nullptr) starts[backward ? 1 : 0] = {i, a};
          stops[backward ? 0 : 1] = {i, a};
        }
    for (const Cut& start : starts) {
      if (start.action == nullptr) continue;
      add(slots, start.at, start.action, slots.size(), nullptr);
      for (const Cut& stop : stops)
        if (stop.action != nullptr && stop.at > start.at) add(slots, start.at, start.action, stop.at, stop.action);
    }
  }

  const Schedule& s_;
  double flight_;
  bool whole_ = true;
  std::vector<Window> all_;
};

} // namespace

std::vector<Window> schedule_windows(const Schedule& schedule, Duration flight) {
  return Windows(schedule, flight).all();
}

} // namespace tessella
