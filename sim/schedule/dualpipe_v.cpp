// DualPipeV (DualPipe cut in half; torch ScheduleDualPipeV): the two directions are the two arms of a V, so each rank
// holds stages r and 2p-1-r and no weight is held twice. p=2 m=4, B = 2F, a pair 3F:
//   r0 0120a-13bb.2aacc.3bbddc-d-
//   r1 .00112aa2aa3bb3bbcccc.dd--
//   r0: 0F0 0F1 0F2 3F0 3I0 3W0 3F1 (0F3;3B1) (3F2;0B0) 3B2 (3F3;0B1) 3B3 0I2 0W2 0I3 0W3
// With PP = 2p stages: bubble (PP/2-1)(FB + B - 3W) in chunk times for F = I = W, PP + 1 half-size activations.
#include "sim/schedule/build.h"
#include "sim/schedule/dual.h"

namespace tessella {

Schedule dualpipe_v(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("dualpipe_v", shape, Placement::v);
  for (std::int32_t r = 0; r < shape.pp; ++r) {
    DualRank rank;
    rank.half = shape.pp;
    rank.depth = r;
    rank.micro_batches = shape.num_micro_batches;
    rank.first_pair_unfused = r == shape.pp - 1;
    rank.stage = {r, 2 * shape.pp - 1 - r};
    schedule.ranks[static_cast<std::size_t>(r)] = dual_rank_order(rank);
  }
  return schedule;
}

} // namespace tessella
