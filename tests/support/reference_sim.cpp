#include "tests/support/reference_sim.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

namespace tessella::testing {
namespace {

// What one rank does with one op of the template it is running.
struct OpState {
  bool arrived = false;  // lane reached it and its inputs exist
  bool moving = false;   // all ranks of its sync block have arrived
  bool finished = false; // this rank's share of the work is done (a collective may still wait for others)
  bool done = false;
  Duration remaining;
  Time since; // when `remaining` was last right
  Pace pace;
  std::size_t neighbour = 0; // the all-to-all beside it and whether that moves: 2 * op + 1 or + 2; 0 = none
};

struct RankState {
  std::size_t slot = 0;
  bool running = false; // inside a slot
  Time free_since;      // end of the previous slot
  std::vector<OpState> ops;
  std::array<bool, 2> sent{}; // [half] its message has left
  LedgerRow row;
};

using MessageKey = std::tuple<char, int, int, std::size_t>; // kind letter, receiving stage, micro-batch, rank in group

class Simulator {
 public:
  Simulator(const Program& p, const LoadSource* loads, std::int64_t step, std::int32_t replica)
      : p_(p), loads_(loads), step_(step), replica_(replica), n_(static_cast<std::size_t>(p.group_size)),
        ranks_(p.schedule.ranks.size(), std::vector<RankState>(n_)) {}

  std::vector<std::vector<ReferenceRank>> run() {
    for (;;) {
      while (start_what_can_start()) {
      }
      const std::optional<Time> next = next_event();
      if (!next) break;
      book_until(*next);
      now_ = *next;
      complete_what_is_due();
    }
    std::vector<std::vector<ReferenceRank>> result(ranks_.size());
    for (std::size_t g = 0; g < ranks_.size(); ++g)
      for (RankState& r : ranks_[g]) {
        if (r.slot != p_.schedule.ranks[g].size()) throw std::runtime_error("reference: deadlock");
        result[g].push_back({r.free_since, r.row});
      }
    return result;
  }

 private:
  const Slot& slot(std::size_t g, const RankState& r) const { return p_.schedule.ranks[g][r.slot]; }

  const Template& plan(std::size_t g, const RankState& r) const {
    const auto of = [&](const Action& a) {
      return p_.stage_templates[static_cast<std::size_t>(a.stage.value)][static_cast<std::size_t>(a.kind)];
    };
    const Slot& s = slot(g, r);
    const int t = s.second ? p_.pair_templates.at({of(s.first), of(*s.second)}) : of(s.first);
    return p_.templates[static_cast<std::size_t>(t)];
  }

  std::int32_t load(std::int32_t layer, std::int32_t mb, std::size_t rank) const {
    const auto block = static_cast<std::size_t>(p_.ep_block);
    std::vector<std::int32_t> out(block / static_cast<std::size_t>(p_.etp));
    const auto ep_group = static_cast<std::int32_t>(static_cast<std::size_t>(replica_) * (n_ / block) + rank / block);
    loads_->rank_loads(step_, layer, mb, ep_group, out);
    return out[(rank % block) / static_cast<std::size_t>(p_.etp)];
  }

  Duration work_of(const Op& op, const Action& a, std::size_t rank) const {
    if (op.work == WorkKind::fixed) return op.duration;
    const TokenCurve& curve = p_.curves[static_cast<std::size_t>(op.curve)];
    const auto width = static_cast<std::size_t>(op.sync_width);
    std::int32_t tokens = 0;
    for (std::size_t r = rank / width * width; r < rank / width * width + width; ++r)
      tokens = std::max(tokens, load(op.moe_layer, a.micro_batch.value, r));
    return curve.at(tokens);
  }

  static const Action& action(const Slot& s, const Op& op) { return op.half == 0 ? s.first : *s.second; }
  static bool on_ep_lane(const Template& t, const Op& op) { return t.overlapped && op.lane == OpLane::ep; }

  // Messages: when the one an action needs reaches this rank; nothing when it needs none.
  struct Need {
    Time arrives;
    Duration flight;
  };
  // false: not sent yet.
  bool message(const Action& a, std::size_t rank, std::optional<Need>& need) const {
    const bool first = a.stage.value == 0;
    const bool last = a.stage.value + 1 == p_.schedule.num_stages;
    char kind = 0;
    if (a.kind == ActionKind::F && !first) kind = 'F';
    if ((a.kind == ActionKind::B || a.kind == ActionKind::I) && !last) kind = 'B';
    if (kind == 0) return true;
    const auto it = messages_.find({kind, a.stage.value, a.micro_batch.value, rank});
    if (it == messages_.end()) return false;
    need = it->second;
    return true;
  }

  bool start_what_can_start() {
    bool changed = false;
    for (std::size_t g = 0; g < ranks_.size(); ++g)
      for (std::size_t r = 0; r < n_; ++r) changed |= start_slot(g, r);
    for (std::size_t g = 0; g < ranks_.size(); ++g)
      for (std::size_t r = 0; r < n_; ++r) changed |= arrive(g, r);
    for (std::size_t g = 0; g < ranks_.size(); ++g)
      for (std::size_t r = 0; r < n_; ++r) changed |= begin_moving(g, r);
    if (changed) repace();
    return changed;
  }

  bool start_slot(std::size_t g, std::size_t r) {
    RankState& rank = ranks_[g][r];
    if (rank.running || rank.slot == p_.schedule.ranks[g].size()) return false;
    const Slot& s = slot(g, rank);
    std::vector<Need> needs;
    for (const Action* a : {&s.first, s.second ? &*s.second : nullptr}) {
      if (!a) continue;
      std::optional<Need> need;
      if (!message(*a, r, need)) return false;
      if (need && need->arrives > now_) return false;
      if (need) needs.push_back(*need);
    }
    // The wait is over: the last `flight` of it was the message in the air.
    Time clock = rank.free_since;
    for (const Need& need : needs) {
      const Duration wait = max(Duration{0}, need.arrives - clock);
      rank.row[Share::exposed_pp] += min(wait, need.flight);
      rank.row[rank.slot == 0 ? Share::bubble_warmup : Share::bubble_dependency] += wait - min(wait, need.flight);
      clock = clock + wait;
    }
    rank.running = true;
    rank.ops.assign(plan(g, rank).ops.size(), {});
    return true;
  }

  // The next op of each lane arrives when its inputs exist.
  bool arrive(std::size_t g, std::size_t r) {
    RankState& rank = ranks_[g][r];
    if (!rank.running) return false;
    const Template& t = plan(g, rank);
    bool lane_free[2] = {true, true};
    bool changed = false;
    for (std::size_t i = 0; i < t.ops.size(); ++i) {
      const Op& op = t.ops[i];
      const int lane = on_ep_lane(t, op) ? 1 : 0;
      if (!lane_free[lane]) continue;
      if (rank.ops[i].done) continue;
      lane_free[lane] = false; // in order: later ops of this lane must wait
      if (rank.ops[i].arrived) continue;
      bool ready = true;
      if (t.overlapped)
        for (std::size_t d = op.first_dep; d < op.first_dep + std::size_t{op.num_deps}; ++d)
          ready &= rank.ops[t.deps[d]].done;
      if (!ready) continue;
      rank.ops[i].arrived = true;
      changed = true;
    }
    return changed;
  }

  // Moves when every rank of the sync block has arrived at the same op of the same slot.
  bool begin_moving(std::size_t g, std::size_t r) {
    RankState& rank = ranks_[g][r];
    if (!rank.running) return false;
    const Template& t = plan(g, rank);
    bool changed = false;
    for (std::size_t i = 0; i < t.ops.size(); ++i) {
      OpState& state = rank.ops[i];
      if (!state.arrived || state.moving) continue;
      const auto width = static_cast<std::size_t>(t.ops[i].sync_width);
      bool all = true;
      for (std::size_t m = r / width * width; m < r / width * width + width; ++m) {
        const RankState& member = ranks_[g][m];
        all &= member.running && member.slot == rank.slot && member.ops[i].arrived;
      }
      if (!all) continue;
      for (std::size_t m = r / width * width; m < r / width * width + width; ++m) {
        OpState& member = ranks_[g][m].ops[i];
        member.moving = true;
        member.remaining = work_of(t.ops[i], action(slot(g, rank), t.ops[i]), m);
        if (on_ep_lane(t, t.ops[i])) member.remaining = t.ops[i].beside_compute.span_for(member.remaining);
        member.since = now_;
      }
      changed = true;
    }
    return changed;
  }

  enum class Ep { none, waiting, moving };
  Ep ep_state(const Template& t, const RankState& rank) const {
    for (std::size_t i = 0; i < t.ops.size(); ++i)
      if (on_ep_lane(t, t.ops[i]) && rank.ops[i].arrived && !rank.ops[i].done)
        return rank.ops[i].moving ? Ep::moving : Ep::waiting;
    return Ep::none;
  }

  // Every running op of a compute lane proceeds at the pace its neighbour allows; progress is cut where that changes.
  void repace() {
    for (std::size_t g = 0; g < ranks_.size(); ++g)
      for (RankState& rank : ranks_[g]) {
        if (!rank.running) continue;
        const Template& t = plan(g, rank);
        const std::size_t neighbour = neighbour_of(t, rank);
        for (std::size_t i = 0; i < t.ops.size(); ++i) {
          OpState& state = rank.ops[i];
          if (!state.moving || state.finished || on_ep_lane(t, t.ops[i])) continue;
          if (state.neighbour == neighbour) continue;
          state.remaining -= state.pace.work_in(now_ - state.since);
          state.since = now_;
          state.neighbour = neighbour;
          state.pace = Pace{};
          if (neighbour == 0) continue;
          state.pace = neighbour % 2 == 1 ? t.ops[i].beside_waiting : t.ops[i].beside_moving;
        }
      }
  }

  static std::size_t neighbour_of(const Template& t, const RankState& rank) {
    for (std::size_t i = 0; i < t.ops.size(); ++i)
      if (on_ep_lane(t, t.ops[i]) && rank.ops[i].arrived && !rank.ops[i].done)
        return 2 * i + (rank.ops[i].moving ? 2 : 1);
    return 0;
  }

  std::optional<Time> next_event() const {
    std::optional<Time> next;
    const auto offer = [&](Time t) { next = next ? min(*next, t) : t; };
    for (const auto& group : ranks_)
      for (const RankState& rank : group)
        if (rank.running)
          for (const OpState& s : rank.ops)
            if (s.moving && !s.finished) offer(s.since + s.pace.span_for(s.remaining));
    for (const auto& [key, need] : messages_)
      if (need.arrives > now_) offer(need.arrives);
    return next;
  }

  // Classifies [now, until) of every rank.
  void book_until(Time until) {
    const Duration d = until - now_;
    for (std::size_t g = 0; g < ranks_.size(); ++g)
      for (RankState& rank : ranks_[g])
        if (rank.running) rank.row[state_of(plan(g, rank), rank)] += d;
  }

  Share state_of(const Template& t, const RankState& rank) const {
    const Ep ep = ep_state(t, rank);
    for (std::size_t i = 0; i < t.ops.size(); ++i) {
      const OpState& s = rank.ops[i];
      const Op& op = t.ops[i];
      if (on_ep_lane(t, op) || !s.arrived || s.done) continue;
      if (!s.moving) return Share::imbalance;
      switch (op.cls) {
      case OpClass::tp:
        return Share::exposed_tp;
      case OpClass::cp:
        return Share::exposed_cp;
      case OpClass::ep:
        return Share::exposed_ep;
      case OpClass::compute:
        return ep == Ep::moving ? Share::overlapped : Share::compute;
      }
    }
    if (ep == Ep::moving) return Share::exposed_ep;
    if (ep == Ep::waiting) return Share::imbalance;
    return Share::bubble_dependency;
  }

  void complete_what_is_due() {
    for (auto& group : ranks_)
      for (RankState& rank : group)
        if (rank.running)
          for (OpState& s : rank.ops)
            if (s.moving && !s.finished && s.since + s.pace.span_for(s.remaining) == now_) s.finished = true;
    for (std::size_t g = 0; g < ranks_.size(); ++g)
      for (std::size_t r = 0; r < n_; ++r) complete(g, r);
    for (std::size_t g = 0; g < ranks_.size(); ++g)
      for (std::size_t r = 0; r < n_; ++r) end_slot(g, r);
    repace();
  }

  // A collective is done when the work of all its ranks is finished.
  void complete(std::size_t g, std::size_t r) {
    RankState& rank = ranks_[g][r];
    if (!rank.running) return;
    const Template& t = plan(g, rank);
    for (std::size_t i = 0; i < t.ops.size(); ++i) {
      if (!rank.ops[i].finished || rank.ops[i].done) continue;
      const auto width = static_cast<std::size_t>(t.ops[i].sync_width);
      bool all = true;
      for (std::size_t m = r / width * width; m < r / width * width + width; ++m) all &= ranks_[g][m].ops[i].finished;
      if (!all) continue;
      for (std::size_t m = r / width * width; m < r / width * width + width; ++m) ranks_[g][m].ops[i].done = true;
    }
  }

  void end_slot(std::size_t g, std::size_t r) {
    RankState& rank = ranks_[g][r];
    if (!rank.running) return;
    const Slot& s = slot(g, rank);
    const Template& t = plan(g, rank);
    const bool ended = std::all_of(rank.ops.begin(), rank.ops.end(), [](const OpState& o) { return o.done; });
    for (std::size_t half = 0; half < 2; ++half) {
      const Action* a = half == 0 ? &s.first : s.second ? &*s.second : nullptr;
      if (a && !rank.sent[half] && (ended || (t.sends[half] && rank.ops[*t.sends[half]].done))) {
        rank.sent[half] = true;
        send(g, r, *a);
      }
    }
    if (!ended) return;
    rank.sent = {};
    rank.running = false;
    rank.free_since = now_;
    ++rank.slot;
  }

  void send(std::size_t g, std::size_t r, const Action& a) {
    const bool first = a.stage.value == 0;
    const bool last = a.stage.value + 1 == p_.schedule.num_stages;
    char kind = 0;
    int to = 0;
    if (a.kind == ActionKind::F && !last) kind = 'F', to = a.stage.value + 1;
    if ((a.kind == ActionKind::B || a.kind == ActionKind::I) && !first) kind = 'B', to = a.stage.value - 1;
    if (kind == 0) return;
    const bool stays = p_.owner_of(Stage{to}, a.micro_batch) == static_cast<std::int32_t>(g);
    const Duration flight = stays ? Duration{0} : p_.p2p_flight;
    messages_[{kind, to, a.micro_batch.value, r}] = {now_ + flight, flight};
  }

  const Program& p_;
  const LoadSource* loads_;
  std::int64_t step_;
  std::int32_t replica_;
  std::size_t n_;
  std::vector<std::vector<RankState>> ranks_;
  std::map<MessageKey, Need> messages_;
  Time now_;
};

} // namespace

std::vector<std::vector<ReferenceRank>> simulate_rank_by_rank(const Program& program, const LoadSource* loads,
                                                              std::int64_t step, std::int32_t replica) {
  return Simulator(program, loads, step, replica).run();
}

} // namespace tessella::testing
