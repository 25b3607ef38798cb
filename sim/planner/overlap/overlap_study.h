// How far heuristics are from the best order, over many pairs: the distribution that Tessera's Fig. 13 shows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/planner/overlap/cost_table.h"

namespace tessella {

// Gaps of one method to the exact search, post-overlap cost over the exact one's minus 1, sorted.
struct MethodGaps {
  OverlapMethod method = OverlapMethod::align_defer;
  std::vector<double> gaps;
  double cpu_seconds = 0.0; // to schedule all pairs; differs from run to run

  double mean() const;
  double quantile(double q) const; // the smallest gap that a share q of the pairs does not exceed
};

struct OverlapStudy {
  std::vector<MethodGaps> methods; // all but the exact one, as far as they apply
  std::vector<PairCost> exact;     // [pair]
  std::vector<double> gains;       // [pair] overlap gain of the exact order
  std::size_t proven = 0;          // pairs whose exact order is proven to be the best
  double exact_cpu_seconds = 0.0;
  double slowest_cpu_seconds = 0.0; // of one pair
};

// Schedules every pair by every method on the calling thread; times count while no other thread of the process works.
// The pairs must not be empty.
OverlapStudy study_overlap(const ChunkLibrary& chunks, std::span<const ChunkPair> pairs, const SearchLimits& limits);

} // namespace tessella
