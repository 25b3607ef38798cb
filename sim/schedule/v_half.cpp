// V-Half: half the activations of 1F1B's first rank for about half its bubble. Two chunks per rank in a V (stages r and
// 2p-1-r); peak 2 floor((p+2)/2) chunks of half size. p=2 m=4, F = I = W (digits F, letters I, - W):
//   r0 0120a-1ab--23bc--3dc-d--.
//   r1 .0011aa-2-2bb-3-3ccdd----
// Building block of rank i: F down at 2i, F up at 3p-i-2, I down at 3p+q+2i-1, I up at 6p+q-i-2. Staying near zero
// bubble needs W + 2I >= 2F and W + 2F >= 2I.
#include "sim/schedule/controllable_memory.h"

namespace tessella {

Schedule v_half(const ScheduleShape& shape) {
  const std::int32_t p = shape.pp;
  const std::int32_t q = p % 2 == 0 ? 3 : 0; // keeps the four slots apart modulo 6
  std::vector<BuildingBlock> blocks;
  for (std::int32_t i = 0; i < p; ++i)
    blocks.push_back({2 * i, 3 * p - i - 2, 3 * p + q + 2 * i - 1, 6 * p + q - i - 2});
  return controllable_memory("v_half", shape, blocks);
}

} // namespace tessella
