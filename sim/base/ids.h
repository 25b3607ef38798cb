// Index types that cannot be mixed up. Each counts from 0; absence is std::optional, never -1.
#pragma once

#include <compare>
#include <cstdint>

namespace tessella {

template <class Tag>
struct Id {
  std::int32_t value = 0;
  constexpr Id() = default;
  constexpr explicit Id(std::int32_t v) : value(v) {}
  constexpr auto operator<=>(const Id&) const = default;
};

using Rank = Id<struct RankTag>;             // a GPU, 0..world-1
using PpRank = Id<struct PpRankTag>;         // a position in the pipeline, 0..PP-1
using Stage = Id<struct StageTag>;           // a run of layers, global index 0..PP*VPP-1
using MicroBatch = Id<struct MicroBatchTag>; // 0..M-1
using Layer = Id<struct LayerTag>;           // 0..L-1, MTP layers follow the decoder layers

} // namespace tessella
