// What the ranks of a group expect of the template they run: the same max-plus algebra as the run itself, on offline
// durations at the token counts exchanged so far. It starts from "all others began when I did", takes weight gradients
// as deferred, and knows nothing of what really happened: it is never shown a clock. A rank turns it into its own time
// by the last exchange it saw end (replica_fill.cpp).
// O(ranks) per op.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/exec/overlap.h"
#include "sim/exec/program.h"

namespace tessella {

class Forecast {
 public:
  explicit Forecast(std::size_t ranks) : n_(ranks), clock_(ranks), start_(ranks), end_(ranks), overlap_(ranks) {}

  // A template of `ops` ops begins at time 0 on every rank.
  void begin(std::size_t ops);

  // `work` holds one duration for all, or one per rank (compute) or sync block (collectives).
  void chain(const Op& op, std::span<const Duration> work, bool movable);
  void overlapped(const Template& t, std::size_t index, std::span<const Duration> work, bool movable);

  // The last collective of a chain.
  Time start(std::size_t rank) const { return start_[rank]; }
  Time end(std::size_t rank) const { return end_[rank]; }
  // An op of an overlapped template.
  Time end_of(std::size_t index, std::size_t rank) { return overlap_.ends(index)[rank]; }

 private:
  void exchange(const Template& t, std::size_t index, std::span<const Duration> work);
  void compute(const Template& t, std::size_t index, std::span<const Duration> work, bool movable);

  std::size_t n_;
  std::vector<Time> clock_; // [rank] compute lane
  std::vector<Time> start_;
  std::vector<Time> end_;
  Overlap overlap_;
};

} // namespace tessella
