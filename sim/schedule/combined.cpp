// Combined 1F1B (Megatron --overlap-moe-expert-parallel-comm): the interleaved order with one more warm-up forward, so
// that the forward and the backward of a pair belong to different micro-batches and can hide each other's all-to-alls.
// p=2 v=2 N=2 m=4:
//   r0 01012..3aa2bb3aabb.ccddccdd      a pair takes one F and one B side by side
//   r1 .0101aa2bb3aa2bb3ccddccdd..
//   r0: 0F0 0F1 2F0 2F1 0F2 (0F3;2B0) (2F2;2B1) (2F3;0B0) 0B1 2B2 2B3 0B2 0B3
// p=1: F0 (F1;B0) (F2;B1) ... B(m-1). Without chunks (v=1) the warm-up is 2(p-1-r) + 1: a pair waits for its partner
// rank once on the way down and once on the way up, so the p-r of plain 1F1B would halve the steady rate.
// Source: combined_1f1b.py and get_pp_rank_microbatches, Megatron-LM.
#include "sim/schedule/build.h"
#include "sim/schedule/interleaving.h"

namespace tessella {

Schedule combined_1f1b(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("combined_1f1b", shape, Placement::loop);
  for (std::int32_t r = 0; r < shape.pp; ++r) {
    const std::int32_t warmup = 2 * (shape.pp - 1 - r) + (shape.vpp - 1) * shape.group_size + 1;
    schedule.ranks[static_cast<std::size_t>(r)] = warmup_steady_cooldown(shape, r, warmup, true);
  }
  return schedule;
}

} // namespace tessella
