// What the other ranks pay at least while one rank chooses its column: part of rank_sum.h.
//
// Every pair is split into a share of its forward and one of its backward stage, so that no two shares together exceed
// what the pair costs (and meet it where one of the two is the reference choice). A path over the boundaries then is
// below the sum of all ranks, whatever they choose, and the parts of it between two stages of a rank are below what the
// stages in between cost their own ranks. Useful only where every stage has one rank.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/planner/overlap/overlap_graph.h"

namespace tessella {

class OtherRanks {
 public:
  static constexpr std::int64_t kNever = std::int64_t{1} << 60; // picoseconds; also: ranges do not meet

  // [position in the rank's stages]
  struct Gaps {
    std::vector<std::vector<std::int64_t>> between; // [candidate before * candidates + candidate]; first: [candidate]
    std::vector<std::vector<std::int64_t>> after;   // [candidate] from its end to the end of the model, own stages free
  };

  // `reference`: one candidate per stage. The problem must outlive it.
  OtherRanks(const PartitionProblem& problem, const std::vector<std::int32_t>& reference);

  // The cheapest way through stages [first, end) from one boundary to another: [place before * (layers + 1) + place
  // after]. O(stages * candidates * layers).
  std::vector<std::int64_t> through(std::size_t first, std::size_t end) const;
  std::size_t layers() const { return layers_; }

  // Below the sum of all rank sums; kNever when no ranges meet from end to end.
  std::int64_t total() const;
  // O(stages * candidates^2).
  Gaps gaps(const std::vector<std::int32_t>& stages) const;

 private:
  using Places = std::vector<std::int64_t>; // [layer] cheapest way to a boundary there

  Places start() const;
  Places step(std::size_t stage, const Places& from) const;

  const PartitionProblem& problem_;
  std::size_t layers_ = 0;
  std::vector<std::vector<std::int64_t>> share_; // [stage][candidate]
};

} // namespace tessella
