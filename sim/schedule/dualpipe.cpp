// DualPipe (DeepSeek-V3): micro-batches enter at both ends, so every rank holds two stages, k and p-1-k, and overlaps a
// forward of one direction with a backward of the other. The first m/2 micro-batches go down, the others up.
// p=2 m=4 (stage 0 and stage 1 on both ranks; micro-batches 2 and 3 go up):
//   r0: 0F0 1F2 0F1 1B2 (1F3;0B0) 1B3 0I1 0W1        (first pair unfused: both ranks are in the middle)
//   r1: 0F2 1F0 ...                                   the mirror image
// Bubble (p/2-1)(FB + B - 3W) for F = I = W and FB <= F + B, see the replay for anything else; p + 1 activations on
// every rank, weights twice.
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
