// The state of a pair while its tasks are put in order, for the exact search: what is done, what runs and how much of
// it is left. Times are relative, so states that are reached at different times compare equal.
//
// Movable tasks with equal ops are one kind: which of those released runs first makes no difference.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "sim/planner/overlap/pair_problem.h"

namespace tessella {

inline constexpr std::size_t kMaxMovableKinds = 10;

// The problem sorted by what the search branches over.
struct SearchJobs {
  struct MovableKind {
    std::vector<std::size_t> tasks;                     // in the order in which each chain releases them
    std::array<std::vector<std::uint16_t>, 2> released; // [half][tasks of its chain that have ended] -> how many
  };
  std::array<std::vector<std::size_t>, 2> chains; // [half] indices into PairProblem::tasks
  std::vector<MovableKind> kinds;
};

// Nothing when the problem has more movable kinds, tasks or ops per task than a state can hold.
std::optional<SearchJobs> search_jobs(const PairProblem& problem);

// Who holds a lane: nobody, the chain of half 0 or 1, or movable kind k.
using Holder = std::uint8_t;
inline constexpr Holder kNobody = 0;
constexpr Holder chain_holder(std::size_t half) {
  return static_cast<Holder>(1 + half);
}
constexpr Holder kind_holder(std::size_t kind) {
  return static_cast<Holder>(3 + kind);
}

struct SearchState {
  std::array<std::uint16_t, 2> done{};                 // [half] tasks of the chain that have ended
  std::array<std::uint16_t, kMaxMovableKinds> moved{}; // [kind] tasks that have started
  std::array<Holder, 2> holder{};                      // [lane]
  std::array<std::uint8_t, 2> op{};                    // [lane] op of the running task
  std::array<std::uint8_t, 2> waits{};   // [lane] 1: idle on purpose; only what becomes ready from now on may start
  std::array<std::uint8_t, 2> fresh{};   // [half] 1: its next task became ready just now; kept only while a lane waits
  std::array<std::int64_t, 2> left_ps{}; // [lane] work left in the running op

  bool operator==(const SearchState&) const = default;
  bool runs_chain(std::size_t half) const { return holder[0] == chain_holder(half) || holder[1] == chain_holder(half); }
};
static_assert(std::has_unique_object_representations_v<SearchState>); // hashed byte by byte

} // namespace tessella
