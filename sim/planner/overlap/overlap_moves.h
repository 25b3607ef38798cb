// How the exact search gets from one state of a pair to the next: which tasks a free lane may take, and what the lanes
// do until the next task ends.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/planner/overlap/overlap_state.h"

namespace tessella {

// What a lane does next.
struct LaneChoice {
  Holder takes = kNobody; // nobody: stays as it is, busy or idle
  bool waits = false;     // idle on purpose
};

class PairMoves {
 public:
  // Both must outlive it.
  PairMoves(const PairProblem& problem, const SearchJobs& jobs);

  // What each lane may do now. O(movable kinds).
  void choices(const SearchState& state, std::size_t lane, std::vector<LaneChoice>& out) const;
  // Applies the choices and runs until a task has ended; false when both lanes would stand idle.
  bool step(SearchState& state, const std::array<LaneChoice, 2>& choice, Duration& elapsed) const;

  // Both chains have ended; what is left is movable, alone and in any order.
  bool only_movable_left(const SearchState& state) const;
  Duration movable_rest(const SearchState& state) const;
  // Tasks started plus tasks ended.
  std::size_t level(const SearchState& state) const;

  const std::vector<TaskOp>& ops(const SearchState& state, Holder holder) const;

 private:
  bool needs_lane_later(const SearchState& state, std::size_t half, std::size_t lane) const;

  const PairProblem& problem_;
  const SearchJobs& jobs_;
  // [half][lane]: one past the last task of the chain on this lane.
  std::array<std::array<std::size_t, 2>, 2> last_on_lane_{};
};

} // namespace tessella
