// Interleaved 1F1B (Narayanan et al. 2021, Megatron-LM): rank r holds chunks r, r+p, ...; groups of N micro-batches
// pass chunk 0, then chunk 1, ... p=2 v=2 N=2 m=4 (rank 0 holds stages 0 and 2):
//   r0 01012.aa3bb2aa3bb.cc.ddccdd
//   r1 .010aa1bb2aa3bb2cc3ddccdd..
//   r0: 0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3
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
