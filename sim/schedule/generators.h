// One pure function per schedule, each in its own .cpp with a picture of a small grid. sim/schedule/table.h names them
// and states which shapes are legal; a generator may assume a legal shape. All are linear in the number of actions.
//
// Notation (science: "schedules: reference"): p ranks, v chunks per rank, m micro-batches, N micro-batch group size,
// r rank, c chunk, j micro-batch; F, B, I, W the durations of an action.
#pragma once

#include <cstdint>

#include "sim/domain/schedule.h"

namespace tessella {

struct ScheduleShape {
  std::int32_t pp = 1;
  std::int32_t vpp = 1;
  std::int32_t num_micro_batches = 1;
  std::int32_t group_size = 1; // N; only the interleaved family reads it
  bool operator==(const ScheduleShape&) const = default;
};

Schedule gpipe(const ScheduleShape& shape);
Schedule one_f_one_b(const ScheduleShape& shape);
Schedule interleaved_1f1b(const ScheduleShape& shape);
Schedule combined_1f1b(const ScheduleShape& shape);
Schedule interleaved_1f1b_torch(const ScheduleShape& shape);
Schedule interleaved_1f1b_shadow(const ScheduleShape& shape);
Schedule combined_1f1b_shadow(const ScheduleShape& shape);
Schedule looped_bfs(const ScheduleShape& shape);
Schedule zb_h1(const ScheduleShape& shape);
Schedule zb_h2(const ScheduleShape& shape);
Schedule interleaved_zb(const ScheduleShape& shape);
Schedule zb_v(const ScheduleShape& shape);
Schedule v_half(const ScheduleShape& shape);
Schedule v_min(const ScheduleShape& shape);
Schedule dualpipe(const ScheduleShape& shape);
Schedule dualpipe_v(const ScheduleShape& shape);
Schedule chimera(const ScheduleShape& shape);

} // namespace tessella
