// DualPipe (DeepSeek-V3): micro-batches enter at both ends, so every rank holds two stages, k and p-1-k, and overlaps a
// forward of one direction with a backward of the other. The first m/2 micro-batches go down, the others up.
// p=4 m=8, B = 2F, a pair 3F (digits F, letters B or I, - W; micro-batches 4..7 go up):
//   r0 0124e-53ff.6aagg.7bbhhc-d-
//   r1 .04152ee6aa3ff7bbggcc.hd--
//   r2 .40516aa2ee7bb3ffccgg.dh--
//   r3 4560a-17bb.2eecc.3ffddg-h-
// Bubble (p/2-1)(FB + B - 3W) for F = I = W and FB <= F + B; replay anything else. p + 1 activations on every rank,
// weights twice.
#include <algorithm>

#include "sim/schedule/build.h"
#include "sim/schedule/dual.h"

namespace tessella {

Schedule dualpipe(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("dualpipe", shape, Placement::two_directions);
  const std::int32_t p = shape.pp;
  const std::int32_t each = shape.num_micro_batches / 2;
  for (std::int32_t k = 0; k < p; ++k) {
    const bool second_half = k >= p / 2;
    DualRank rank;
    rank.half = p / 2;
    rank.depth = std::min(k, p - 1 - k);
    rank.micro_batches = each;
    rank.first_pair_unfused = rank.depth == rank.half - 1;
    rank.stage = {k, p - 1 - k};
    rank.first_mb = {0, each};
    if (second_half) {
      std::swap(rank.stage[0], rank.stage[1]);
      std::swap(rank.first_mb[0], rank.first_mb[1]);
    }
    schedule.ranks[static_cast<std::size_t>(k)] = dual_rank_order(rank);
  }
  return schedule;
}

} // namespace tessella
