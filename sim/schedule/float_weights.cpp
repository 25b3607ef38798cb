#include "sim/schedule/float_weights.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tessella {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

constexpr std::int32_t kNotYet = std::numeric_limits<std::int32_t>::max();

class Runner {
 public:
  Runner(const std::vector<UnitOrder>& orders, std::int32_t cap, Drain drain) : cap_(cap), drain_(drain) {
    for (const UnitOrder& order : orders) ranks_.emplace_back(order);
  }

  std::optional<UnitRun> run() {
    std::size_t left = 0;
    for (const Rank& rank : ranks_) left += rank.order.size() * 6 / 4;
    std::vector<std::optional<UnitAction>> now(ranks_.size());
    for (std::int32_t t = 0; left > 0; ++t) {
      bool moved = false;
      for (std::size_t r = 0; r < ranks_.size(); ++r) now[r] = choose(r, t);
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (!now[r]) continue;
        commit(ranks_[r], *now[r], t);
        moved = true;
        --left;
      }
      if (!moved) return std::nullopt; // every action takes one slot, so nothing can become ready later
      result_.makespan = t + 1;
    }
    for (Rank& rank : ranks_) result_.ranks.push_back(std::move(rank.done));
    return std::move(result_);
  }

 private:
  struct Rank {
    explicit Rank(const UnitOrder& o) : order(o), m(static_cast<std::int32_t>(o.size() / 4)) {
      for (auto& e : end) e.assign(at(m), kNotYet);
      for (std::size_t i = 0; i < order.size(); ++i) place[at(order[i].type)].push_back(i);
      done.reserve(6 * at(m));
    }
    const UnitOrder& order;
    std::int32_t m;
    std::array<std::vector<std::int32_t>, 4> end;  // [type][micro-batch]
    std::array<std::vector<std::size_t>, 4> place; // [type][micro-batch] -> position in the order
    std::array<std::int32_t, 4> next{};            // [type] next micro-batch
    std::vector<UnitAction> weights;               // waiting W's are weights[popped..]
    std::size_t popped = 0;
    std::int32_t live = 0;
    std::vector<UnitAction> done;
  };

  bool ready(std::size_t r, UnitAction a, std::int32_t t) const {
    const Rank& rank = ranks_[r];
    const std::size_t j = at(a.micro_batch);
    const std::size_t type = at(a.type);
    const bool down = a.type == 0 || a.type == 2;
    if (down && r > 0 && ranks_[r - 1].end[type][j] > t) return false;
    if (!down && r + 1 < ranks_.size() && ranks_[r + 1].end[type][j] > t) return false;
    if (a.type > 0 && rank.end[type - 1][j] > t) return false;
    return a.type >= 2 || rank.live < cap_;
  }

  // The types by the place of their next action in the rank's order.
  std::optional<UnitAction> choose(std::size_t r, std::int32_t t) const {
    const Rank& rank = ranks_[r];
    const bool any = drain_ == Drain::take_ready && rank.next[0] == rank.m;
    std::optional<std::size_t> best;
    std::optional<UnitAction> result;
    std::optional<std::size_t> head;
    for (std::int32_t type = 0; type < 4; ++type) {
      const std::int32_t j = rank.next[at(type)];
      if (j == rank.m) continue;
      const std::size_t place = rank.place[at(type)][at(j)];
      head = std::min(head.value_or(place), place);
      if (best && *best < place) continue;
      if (!ready(r, {type, j}, t)) continue;
      best = place;
      result = UnitAction{type, j};
    }
    if (result && (any || *best == *head)) return result;
    if (rank.popped < rank.weights.size()) return rank.weights[rank.popped];
    return std::nullopt;
  }

  static void commit(Rank& rank, UnitAction a, std::int32_t t) {
    rank.done.push_back(a);
    if (a.type >= 4) {
      ++rank.popped;
      --rank.live;
      return;
    }
    rank.end[at(a.type)][at(a.micro_batch)] = t + 1;
    ++rank.next[at(a.type)];
    if (a.type < 2)
      ++rank.live;
    else
      rank.weights.push_back({a.type + 2, a.micro_batch});
  }

  std::int32_t cap_;
  Drain drain_;
  std::vector<Rank> ranks_;
  UnitRun result_;
};

} // namespace

std::optional<UnitRun> float_weights(const std::vector<UnitOrder>& orders, std::int32_t cap, Drain drain) {
  return Runner(orders, cap, drain).run();
}

} // namespace tessella
