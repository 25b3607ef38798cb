// Schedules made of a repeated building block under a memory cap (Qi et al. 2024, arXiv 2405.15362): V-Half and V-Min.
// Two chunks per rank in a V; unit slots F = I = W = 1; micro-batch j runs its block 6j slots after micro-batch 0, so a
// rank's 2F + 2I + 2W fill the period exactly.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/domain/schedule.h"
#include "sim/schedule/generators.h"

namespace tessella {

// Slot of micro-batch 0 on one rank: F chunk 0, F chunk 1, I chunk 1, I chunk 0. The four differ modulo 6, and so do
// those of any two micro-batches.
using BuildingBlock = std::array<std::int32_t, 4>;

// 1. Lay the blocks out and put each W in the next free slot after its I: the peak of this layout is the memory cap.
// 2. Pull the warm-up and the drain forward into free slots, as far as dependencies and the cap allow.
// 3. Run the result with W floating: W fills a slot in which nothing else is ready, or makes room at the cap. Once a
//    rank has no first-chunk forwards left it may also keep to its order or take what is ready; the shorter one stays.
// O(actions + p^3).
Schedule controllable_memory(const char* name, const ScheduleShape& shape, const std::vector<BuildingBlock>& blocks);

} // namespace tessella
