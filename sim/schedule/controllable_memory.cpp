#include "sim/schedule/controllable_memory.h"

#include <algorithm>
#include <optional>

#include "sim/base/check.h"
#include "sim/schedule/build.h"
#include "sim/schedule/float_weights.h"

namespace tessella {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// One rank's unit slots. Types 0..3 are those of BuildingBlock, 4 is W; the k-th W belongs to the k-th I in time.
struct RankGrid {
  struct Cell {
    std::int32_t type = 0;
    std::int32_t index = 0; // micro-batch, or k for W
  };
  std::vector<std::optional<Cell>> cells;        // [slot]
  std::array<std::vector<std::int32_t>, 5> time; // [type][index] -> slot
  std::vector<std::int32_t> live;                // [slot] activations after it
  std::vector<std::int32_t> backwards;           // slots of the I's settled so far, ascending
};

class Squeezer {
 public:
  Squeezer(const std::vector<BuildingBlock>& blocks, std::int32_t m) : m_(m), ranks_(blocks.size()) {
    std::int32_t last = 0;
    for (const BuildingBlock& block : blocks) last = std::max(last, *std::max_element(block.begin(), block.end()));
    length_ = last + 6 * (m - 1) + 1 + 2 * m; // room for the last W's
    for (std::size_t r = 0; r < blocks.size(); ++r) lay_out(ranks_[r], blocks[r]);
  }

  std::int32_t cap() const { return cap_; }

  // Warm-up: until rank 0 finishes a micro-batch for the first time. Drain: after its last forward. Between them the
  // blocks already fill every slot.
  void squeeze() {
    enum { warm_up, steady, drain } phase = warm_up;
    for (std::int32_t t = 0; t < length_; ++t) {
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        const auto cell = ranks_[r].cells[at(t)];
        if (!cell) continue;
        if (phase == warm_up && r == 0 && cell->type == 3) phase = steady;
        if (phase != steady) pull_forward(r, *cell, t);
        if (phase == steady && r == 0 && cell->type == 0 && cell->index == m_ - 1) phase = drain;
        settle(ranks_[r], *cell);
      }
    }
  }

  // The order of F and I that came out; W stays free.
  std::vector<UnitOrder> orders() const {
    std::vector<UnitOrder> result;
    for (const RankGrid& rank : ranks_) {
      UnitOrder order;
      for (const auto& cell : rank.cells)
        if (cell && cell->type < 4) order.push_back({cell->type, cell->index});
      result.push_back(std::move(order));
    }
    return result;
  }

 private:
  static std::int32_t change(std::int32_t type) {
    if (type < 2) return 1;
    return type == 4 ? -1 : 0;
  }

  void lay_out(RankGrid& rank, const BuildingBlock& block) {
    rank.cells.resize(at(length_));
    for (std::int32_t type = 0; type < 4; ++type) {
      for (std::int32_t j = 0; j < m_; ++j) {
        auto& cell = rank.cells[at(block[at(type)] + 6 * j)];
        TSL_CHECK(!cell);
        cell = RankGrid::Cell{type, j};
        rank.time[at(type)].push_back(block[at(type)] + 6 * j);
      }
    }
    std::int32_t waiting = 0;
    std::int32_t live = 0;
    for (std::int32_t t = 0; t < length_; ++t) {
      auto& cell = rank.cells[at(t)];
      if (!cell && waiting > 0) {
        cell = RankGrid::Cell{4, static_cast<std::int32_t>(rank.time[4].size())};
        rank.time[4].push_back(t);
        --waiting;
      }
      if (cell && (cell->type == 2 || cell->type == 3)) ++waiting;
      if (cell) live += change(cell->type);
      rank.live.push_back(live);
      cap_ = std::max(cap_, live);
    }
    TSL_CHECK_OP(waiting, ==, 0);
  }

  // The first slot that dependencies allow.
  std::int32_t earliest(std::size_t r, RankGrid::Cell cell) const {
    const std::int32_t type = cell.type;
    const std::int32_t j = cell.index;
    const RankGrid& rank = ranks_[r];
    std::int32_t after = -1;
    const auto wait_for = [&](const RankGrid& other, std::int32_t t) {
      after = std::max(after, other.time[at(t)][at(j)]);
    };
    if (type == 4) {
      after = rank.backwards[at(j)];
    } else {
      const bool down = type == 0 || type == 2; // the arm that enters from the rank before
      if (down && r > 0) wait_for(ranks_[r - 1], type);
      if (!down && r + 1 < ranks_.size()) wait_for(ranks_[r + 1], type);
      if (type > 0) wait_for(rank, type - 1);
    }
    if (j > 0) after = std::max(after, rank.time[at(type)][at(j - 1)]);
    return after + 1;
  }

  void pull_forward(std::size_t r, RankGrid::Cell cell, std::int32_t now) {
    RankGrid& rank = ranks_[r];
    std::int32_t from = earliest(r, cell);
    if (change(cell.type) > 0) { // it would be live during all the slots it skips
      std::int32_t t = now;
      while (t > from && rank.live[at(t - 1)] < cap_) --t;
      from = t;
    }
    while (from < now && rank.cells[at(from)]) ++from;
    if (from >= now) return;
    rank.cells[at(from)] = cell;
    rank.cells[at(now)].reset();
    rank.time[at(cell.type)][at(cell.index)] = from;
    for (std::int32_t t = from; t < now; ++t) rank.live[at(t)] += change(cell.type);
  }

  static void settle(RankGrid& rank, RankGrid::Cell cell) {
    if (cell.type != 2 && cell.type != 3) return;
    const std::int32_t t = rank.time[at(cell.type)][at(cell.index)];
    rank.backwards.insert(std::upper_bound(rank.backwards.begin(), rank.backwards.end(), t), t);
  }

  std::int32_t m_;
  std::int32_t length_ = 0;
  std::int32_t cap_ = 0;
  std::vector<RankGrid> ranks_;
};

} // namespace

Schedule controllable_memory(const char* name, const ScheduleShape& shape, const std::vector<BuildingBlock>& blocks) {
  Squeezer squeezer(blocks, shape.num_micro_batches);
  squeezer.squeeze();
  const std::vector<UnitOrder> orders = squeezer.orders();
  auto best = float_weights(orders, squeezer.cap(), Drain::keep_order);
  const auto other = float_weights(orders, squeezer.cap(), Drain::take_ready);
  TSL_CHECK(best.has_value());
  if (other && other->makespan < best->makespan) best = other;

  Schedule schedule = empty_schedule(name, shape, Placement::v);
  for (std::int32_t r = 0; r < shape.pp; ++r) {
    auto& slots = schedule.ranks[at(r)];
    slots.reserve(best->ranks[at(r)].size());
    const std::int32_t first = r;
    const std::int32_t turned = 2 * shape.pp - 1 - r;
    for (const UnitAction& a : best->ranks[at(r)]) {
      const bool is_first_chunk = a.type == 0 || a.type == 3 || a.type == 5;
      const ActionKind kind = a.type < 2 ? ActionKind::F : a.type < 4 ? ActionKind::I : ActionKind::W;
      slots.push_back(slot(is_first_chunk ? first : turned, kind, a.micro_batch));
    }
  }
  return schedule;
}

} // namespace tessella
