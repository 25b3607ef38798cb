// How a forward and a backward stage share a GPU: the overlapped template of a pair.
//
// The order is Megatron-Core's (--overlap-moe-expert-parallel-comm; schedules, section 6.4): forward layers ascending
// zipped with backward layers descending, and per layer pair
//   compute  join B | attention F | experts B | experts W | experts F | attention B | attention W | join F
//   ep             combine B | dispatch F | dispatch B | combine F
// Leftover backward layers follow, then leftover forward layers. Each half is a chain; with delayed weight gradients
// those leave the chain and only follow the input gradient they belong to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/exec/pieces.h"
#include "sim/exec/program.h"

namespace tessella {

// `forward` and `backward` are the pieces of the two stages in forward order.
Template pair_template(std::span<const PieceOps> forward, std::span<const PieceOps> backward, bool delay_wgrad);

} // namespace tessella
