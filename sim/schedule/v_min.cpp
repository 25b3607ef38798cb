// V-Min: a third of the activations of 1F1B's first rank, for about two thirds of its bubble, and more if F, I, W are
// unbalanced. Two chunks per rank in a V (stages r and 2p-1-r); peak 2 floor((p+4)/3) chunks of half size.
// p=2 m=4, F = I = W (digits F, letters I, - W):
//   r0 01.0a-.a-1b2-b-2c3-c-3d-.d-
//   r1 .00..aa11--bb22--cc33--dd--
// Building block of rank i: F down at i, F up at 2p-1-i, I down at 2p+q+i, I up at 4p+q-i-1.
#include "sim/schedule/controllable_memory.h"

namespace tessella {

Schedule v_min(const ScheduleShape& shape) {
  const std::int32_t p = shape.pp;
  const std::int32_t q = p % 3 == 0 ? 2 : 0; // keeps the four slots apart modulo 6
  std::vector<BuildingBlock> blocks;
  for (std::int32_t i = 0; i < p; ++i) blocks.push_back({i, 2 * p - i - 1, 2 * p + q + i, 4 * p + q - i - 1});
  return controllable_memory("v_min", shape, blocks);
}

} // namespace tessella
