// The columns of one pipeline rank: every choice of candidates for its stages whose edges sum up to at most a
// threshold, within the rank's limits. Part of rank_sum.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/planner/partition/rank_others.h"

namespace tessella {

struct RankColumn {
  Duration sum;
  std::vector<std::int32_t> choice; // [position in the rank's stages] candidate
};

class RankColumns {
 public:
  // The problem must outlive it. `others` null: nothing is known of what the other ranks pay.
  RankColumns(const PartitionProblem& problem, std::size_t rank, const OtherRanks* others);

  // The smallest sum of any column; Duration::max() when the limits allow none. Takes nodes from `nodes_left`; when
  // they run out, a bound below it.
  Duration least(std::int64_t& nodes_left) const;
  // All columns with a sum of at most `threshold` that leave the other ranks at most `rest` together, in lexicographic
  // order. Incomplete when nodes_left is 0 afterwards.
  std::vector<RankColumn> upto(Duration threshold, std::int64_t rest, std::int64_t& nodes_left) const;
  const std::vector<std::int32_t>& stages() const { return stages_; }

 private:
  struct Term {
    const PartitionProblem::Edge* edge;
    std::int64_t count;
    std::size_t forward, backward;       // positions
    std::vector<Duration> least_from[2]; // [forward, backward][candidate of it] cheapest partner
    Duration least;

    std::size_t last() const { return forward > backward ? forward : backward; }
    std::size_t first() const { return forward < backward ? forward : backward; }
  };
  struct Bound {
    std::size_t limit;
    std::vector<std::size_t> at;    // positions of its stages
    std::vector<Bytes> least_after; // [depth] lightest sum of the stages not yet chosen
  };
  template <class Visit>
  void search(std::vector<std::int32_t>& choice, Duration paid, std::int64_t gaps, Visit& visit,
              std::int64_t& nodes_left) const;

  void add_term(const OverlapRank::Run& run);
  void add_limit(std::size_t limit);
  Duration paid_at(const std::vector<std::int32_t>& choice) const;
  Duration open_after(const std::vector<std::int32_t>& choice) const;
  bool fits(const std::vector<std::int32_t>& choice) const;
  bool meets(const std::vector<std::int32_t>& choice) const;
  std::int64_t gap_before(const std::vector<std::int32_t>& choice) const;

  const PartitionProblem& problem_;
  std::vector<std::int32_t> stages_;
  std::vector<Term> terms_;
  std::vector<Bound> limits_;
  std::optional<OtherRanks::Gaps> gaps_;
};

} // namespace tessella
