// Compute beside expert all-to-alls on the same rank: which all-to-all occupies which span, and how far compute gets in
// between. The spans of a rank are in time order because its ep lane is in order:
//
//   ep lane    |  waiting  |  moving  |      |waiting|    moving    |
//              arrive      start      end    arrive  start          end
//   compute    ======= beside_waiting, then beside_moving, then full speed
//
// Communication slows compute at every instant; what compute costs communication is a factor on the all-to-all's
// duration, the same for the whole pair (Op::beside_compute, DECISIONS.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/engine/pace.h"

namespace tessella {

class Overlap {
 public:
  explicit Overlap(std::size_t ranks) : n_(ranks), ep_clock_(ranks), first_(ranks) {}

  // Forgets all spans; the ep lane of every rank is free from `now` on. `ops` ops will report their ends.
  void begin(std::span<const Time> now, std::size_t ops);

  // The end of op `index` on each rank.
  std::span<Time> ends(std::size_t index) { return std::span(ends_).subspan(index * n_, n_); }
  // When the ep lane of each rank is free.
  std::span<Time> ep_clock() { return ep_clock_; }

  // A new all-to-all, later than all before: fill in arrive, start and end for every rank.
  struct Spans {
    std::span<Time> arrive, start, end;
  };
  Spans add();

  // Splits [from, to) of a rank, which no compute fills, into waiting and moving; the rest is neither.
  struct Idle {
    Duration waiting, moving;
  };
  Idle idle(std::size_t rank, Time from, Time to) const;

  // Runs `work` on a rank from `begin` on; `moving` is the part of the run beside moving data.
  struct Run {
    Time end;
    Duration moving;
  };
  Run run(std::size_t rank, Time begin, Duration work, Pace beside_waiting, Pace beside_moving) const;

  // The part of endless work that is done in [begin, until).
  Duration work_until(std::size_t rank, Time begin, Time until, Pace beside_waiting, Pace beside_moving) const;

  // Spans of a rank that end at or before `now` will not be asked for again.
  void pass(std::size_t rank, Time now);

 private:
  Time arrive(std::size_t k, std::size_t r) const { return spans_[(3 * k) * n_ + r]; }
  Time start(std::size_t k, std::size_t r) const { return spans_[(3 * k + 1) * n_ + r]; }
  Time end(std::size_t k, std::size_t r) const { return spans_[(3 * k + 2) * n_ + r]; }

  std::size_t n_;
  std::size_t count_ = 0;
  std::vector<Time> spans_;          // [all-to-all][arrive, start, end][rank]
  std::vector<Time> ends_;           // [op][rank]
  std::vector<Time> ep_clock_;       // [rank]
  std::vector<std::uint32_t> first_; // [rank] first span that may still matter
};

} // namespace tessella
