// Interleaved 1F1B (Narayanan et al. 2021, Megatron-LM): rank r holds chunks r, r+p, ...; groups of N micro-batches
// pass chunk 0, then chunk 1, ... p=2 v=2 N=2 m=4, lists (stage and micro-batch; the stages of r0 are 0 and 2):
//   r0: 0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3
//   r1: 1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3
// Warm-up 2(p-1-r) + (v-1)N forwards; bubble (p-1)(F+B)/v for full-stage F and B; rank 0 keeps
// 2(p-1) + (v-1)N + 1 chunks. Source: get_pp_rank_microbatches and get_schedule_table, Megatron-LM schedules.py.
#include "sim/schedule/build.h"
#include "sim/schedule/interleaving.h"

namespace tessella {

Schedule interleaved_1f1b(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("interleaved_1f1b", shape, Placement::loop);
  for (std::int32_t r = 0; r < shape.pp; ++r) {
    const std::int32_t warmup = 2 * (shape.pp - 1 - r) + (shape.vpp - 1) * shape.group_size;
    schedule.ranks[static_cast<std::size_t>(r)] = warmup_steady_cooldown(shape, r, warmup);
  }
  return schedule;
}

} // namespace tessella
