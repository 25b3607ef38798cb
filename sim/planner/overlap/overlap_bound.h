// How early a pair can end at best, from any state of it: the largest of four lower bounds (planning, section 7.3),
// each true for every order, and for schedules that idle on purpose.
//
//   compute lane  work left on it, and what the exchanges left cost it: a picosecond of exchange beside an op slowed by
//                 s costs 1 - 1/s of compute, a picosecond with no compute beside it costs a whole one. An exchange has
//                 only the other action's compute and movable tasks beside it; it is charged their smallest slowdown,
//                 and a whole picosecond for what does not fit beside them.
//   each chain    its tasks one after another; behind any of them, all compute and movable work it releases
//   ep lane       until its next task can start, work left on it, then what must follow the last one
//   both chains   without contention and movable tasks: the two-job job shop (overlap_chains.h), less the time by which
//                 running tasks are ahead of it
#pragma once

#include <array>
#include <vector>

#include "sim/planner/overlap/overlap_chains.h"
#include "sim/planner/overlap/overlap_state.h"

namespace tessella {

class OrderBound {
 public:
  // Both must outlive the bound. O(n0 * n1 * (n0 + n1)) for chains of n0 and n1 tasks.
  OrderBound(const PairProblem& problem, const SearchJobs& jobs);
  OrderBound(const OrderBound&) = delete;
  OrderBound& operator=(const OrderBound&) = delete;

  // From now until the pair has ended. O(movable kinds).
  Duration rest(const SearchState& state) const;

 private:
  // From one place of a chain to its end.
  struct Suffix {
    Duration compute;
    Duration ep;
    Duration tail;                 // the chain bound
    Duration movable;              // work of the movable tasks it releases
    std::optional<Duration> to_ep; // until its next exchange starts; nothing: there is none
    double loss = 1.0;             // the least that exchanges cost beside its compute, 1 - 1/s
    double room_ps = 0.0;          // how much exchange its compute can have beside it
  };
  struct Kind {
    Duration work;
    double loss = 1.0;
    double room_ps = 0.0;
  };
  void add_chain(std::size_t half);
  Suffix here(const SearchState& state, std::size_t half) const;
  Duration left_of_running(const SearchState& state, std::size_t lane) const;
  Duration compute_bound(const SearchState& state, const std::array<Suffix, 2>& halves) const;
  Duration ep_bound(const std::array<Suffix, 2>& halves) const;
  Duration chains_bound(const SearchState& state) const;

  const PairProblem& problem_;
  const SearchJobs& jobs_;
  std::array<std::vector<Suffix>, 2> suffixes_; // [half][tasks that have ended]
  std::array<Duration, 2> after_last_ep_;
  std::vector<Kind> kinds_;
  TwoJobShop shop_; // the chains at full speed
  TwoJobSolution chains_;
};

} // namespace tessella
