// The join of all ranks' columns over the boundaries they share: part of rank_sum.h. Boundary b lies before stage b.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/planner/partition/rank_columns.h"
#include "sim/planner/partition/rank_others.h"

namespace tessella {

class RankJoin {
 public:
  // `others` null: nothing bounds what is left to join. All arguments must outlive it.
  RankJoin(const PartitionProblem& problem, const std::vector<RankColumns>& ranks, const OtherRanks* others);

  // The choice with the smallest largest sum, or with the smallest sum of squares, of those with sums of at most
  // `threshold`, which all columns have. Nothing when no columns join, or when the nodes ran out (then nodes_left is
  // 0).
  std::optional<std::vector<std::int32_t>> run(const std::vector<std::vector<RankColumn>>& columns, Duration threshold,
                                               bool by_squares, std::int64_t& nodes_left);

 private:
  using Places = std::u32string; // layers at which boundaries lie
  struct State {
    Places places; // of the open boundaries
    double value = 0.0;
    std::size_t before = 0, column = 0; // how it was reached
  };
  // Stages [first, end) of ranks that are still to join, between two boundaries.
  struct Rest {
    std::optional<std::size_t> before, after; // positions among the open ones; none: the ends of the model
    std::vector<std::int64_t> cost;           // OtherRanks::through()
  };
  // How a rank meets the open boundaries: positions in open_ of those it shares and of those that stay open, and what
  // is open afterwards.
  struct Meeting {
    std::vector<std::size_t> shared_at, kept_at, shared, added, open;
    std::vector<Rest> rests;
    std::int64_t most = 0; // that the ranks still to join may pay together
  };
  // Columns by where they put the shared boundaries, then the added ones; the cheapest of equals.
  using ByPlaces = std::map<Places, std::map<Places, std::size_t>>;

  std::vector<std::size_t> boundaries(std::size_t rank) const;
  char32_t place(std::size_t rank, const RankColumn& column, std::size_t boundary) const;
  double grown(double value, Duration sum) const;
  Meeting meeting(std::size_t rank) const;
  std::vector<Rest> rests_after(std::size_t rank, const std::vector<std::size_t>& open) const;
  std::int64_t rest_of(const Places& places, const std::vector<Rest>& rests) const;
  ByPlaces by_places(std::size_t rank, const std::vector<RankColumn>& columns, const Meeting& m) const;
  bool expand(const std::vector<RankColumn>& columns, const ByPlaces& by_shared, const Meeting& m,
              std::int64_t& nodes_left);
  std::vector<std::int32_t> unwind(const std::vector<std::vector<RankColumn>>& columns) const;

  const PartitionProblem& problem_;
  const std::vector<RankColumns>& ranks_;
  const OtherRanks* others_;
  std::vector<std::size_t> last_use_; // [boundary] last rank that holds a stage beside it
  std::vector<std::size_t> rank_of_;  // [stage] the last one that holds it
  std::vector<std::size_t> open_;     // boundaries that a later rank shares
  std::vector<std::vector<State>> levels_;
  Duration threshold_;
  bool by_squares_ = false;
};

} // namespace tessella
