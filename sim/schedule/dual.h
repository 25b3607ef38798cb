// The eight steps that DualPipe and DualPipeV share. Source: DeepSeek's DualPipe, dualpipe.py and dualpipev.py.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/domain/schedule.h"

namespace tessella {

// One rank of a pipeline in which two streams of micro-batches meet. Phase 0 enters near this rank, phase 1 comes back.
struct DualRank {
  std::int32_t half = 1;                  // h: p/2 for DualPipe, p for DualPipeV
  std::int32_t depth = 0;                 // r: distance from the nearest entry, 0..h-1
  std::int32_t micro_batches = 2;         // per phase, at least 2h
  bool first_pair_unfused = false;        // the innermost rank runs its very first pair one after the other
  std::array<std::int32_t, 2> stage{};    // [phase]
  std::array<std::int32_t, 2> first_mb{}; // [phase] number of the phase's micro-batch 0
};

std::vector<Slot> dual_rank_order(const DualRank& rank);

} // namespace tessella
