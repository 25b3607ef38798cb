// Interleaved 1F1B for any number of micro-batches: padded with shadow micro-batches up to the next number that
// Megatron accepts, a multiple of p for the default group size (Tessera, OSDI '26: about 0.5 % overhead). Shadows stand
// in the order like any other micro-batch, are the last ones, carry no tokens and cost next to nothing.
// p=2 v=2 m=3: the order of m = 4, of which micro-batch 3 is a shadow and leaves no column because it takes no time:
//   r0 01012.aa.bb2aabb.cc..cc      0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3
//   r1 .010aa1bb2aabb2cc..cc..
#include "sim/schedule/generators.h"
#include "sim/schedule/rules.h"

namespace tessella {
namespace {

Schedule padded(const ScheduleShape& shape, const char* name, Schedule (*generate)(const ScheduleShape&)) {
  ScheduleShape full = shape;
  while (!kMegatronGroups.accepts(full)) ++full.num_micro_batches;
  Schedule schedule = generate(full);
  schedule.name = name;
  schedule.num_shadow_micro_batches = full.num_micro_batches - shape.num_micro_batches;
  return schedule;
}

} // namespace

Schedule interleaved_1f1b_shadow(const ScheduleShape& shape) {
  return padded(shape, "interleaved_1f1b_shadow", interleaved_1f1b);
}

Schedule combined_1f1b_shadow(const ScheduleShape& shape) {
  return padded(shape, "combined_1f1b_shadow", combined_1f1b);
}

} // namespace tessella
