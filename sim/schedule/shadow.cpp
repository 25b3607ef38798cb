// Interleaved 1F1B for any number of micro-batches: padded with shadow micro-batches up to the next number that
// Megatron accepts, a multiple of p for the default group size (Tessera, OSDI '26: about 0.5 % overhead). Shadows stand
// in the order like any other micro-batch, are the last ones, carry no tokens and cost next to nothing. p=2 v=2 m=3,
// one shadow (number 3, written ~):
//   r0: 0F0 0F1 2F0 2F1 0F2 2B0 ~F~ 2B1 2F2 0B0 ~F~ 0B1 2B2 ~B~ 0B2 ~B~
//   r1: 1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 ~F~ 1B1 3F2 3B2 ~F~ ~B~ 1B2 ~B~
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
