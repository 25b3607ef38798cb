// Work that idle ranks do before its place: spare work of the step (checkpoint hash, optimizer state from the host)
// and recomputation ahead of the next backward. This is the account of who did what; when it fits is decided at the
// gap (replica_early.cpp).
//
// A rank recomputes for one backward at a time, from its first op on, and only when the forward of that micro-batch
// lies behind it. Complexity: O(1) per question, next_backward O(slots to the next backward); memory O(ranks * kinds +
// positions * stages * micro-batches).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/exec/program.h"

namespace tessella {

class EarlyWork {
 public:
  explicit EarlyWork(const Program& program); // must outlive it

  void begin_step();
  bool any() const { return any_; } // does the program have such work?

  // Pieces of a kind of spare work (index into Position::spare) not done yet.
  std::int64_t left(std::size_t group, std::size_t rank, std::size_t kind) const;
  void did(std::size_t group, std::size_t rank, std::size_t kind, std::int64_t pieces);
  // Of all kinds, alone on the GPU.
  Duration left(std::size_t group, std::size_t rank) const;

  struct Backward {
    std::int32_t stage = 0;
    std::int32_t micro_batch = 0;
    bool operator==(const Backward&) const = default;
  };
  // The first backward in the slots from `from` on, if its forward stands before slot `running`.
  std::optional<Backward> next_backward(std::size_t group, std::size_t from, std::size_t running) const;
  // Its first recomputation not done yet; nothing while one done for another backward is not used.
  std::optional<AheadWork> next_ahead(std::size_t group, std::size_t rank, const Backward& backward) const;
  void did_ahead(std::size_t group, std::size_t rank, const Backward& backward);
  // A backward op runs: what of its recomputation (Op::ahead) is done already.
  Duration use_ahead(std::size_t group, std::size_t rank, const Backward& backward, std::int32_t ahead);

  std::int64_t bytes(std::size_t group, std::size_t rank) const { return ranks_[at(group, rank)].bytes; }

 private:
  struct Rank {
    Backward backward;
    std::int32_t done = 0; // recomputations for it
    std::int32_t used = 0;
    std::int64_t bytes = 0; // held by all that was done early
  };
  std::size_t at(std::size_t group, std::size_t rank) const { return group * n_ + rank; }
  std::size_t index(const Backward& b) const;
  const std::vector<AheadWork>& ahead_of(const Backward& b) const {
    return program_.ahead[static_cast<std::size_t>(b.stage)];
  }

  const Program& program_;
  std::size_t n_;
  bool any_ = false;
  std::vector<Rank> ranks_;                                           // [group][rank]
  std::vector<std::vector<std::int64_t>> left_;                       // [group][kind * n + rank]
  std::vector<std::vector<std::optional<std::size_t>>> forward_slot_; // [group][stage, micro-batch]
};

} // namespace tessella
