// What a memory check found out: plain values, made by sim/cost/memory.h, carried by every run result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.h"

namespace tessella {

// Memory of one pipeline rank at its peak (every rank of the group holds as much; the hottest expert rank is charged).
struct RankMemory {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;             // at the peak of in-flight micro-batches, as the schedule that ran orders them
  Bytes buffers;                 // dispatch and collective buffers, backward workspace, context, fragmentation
  double in_flight_chunks = 0.0; // live (stage, micro-batch) activations at the peak
  Bytes model_state() const { return weights + gradients + optimizer; }
  Bytes peak() const { return model_state() + activations + buffers; }
  bool operator==(const RankMemory&) const = default;
};

struct MemoryReport {
  std::vector<RankMemory> ranks; // per pipeline rank
  Bytes capacity;                // of the GPU
  std::int32_t peak_rank = 0;    // pipeline rank with the highest peak
  bool fits = true;
  std::optional<std::int64_t> smallest_world; // when it does not fit: fewest GPUs that do, of those tried
  std::string smallest_world_plan;            // how, e.g. "TP 8, PP 4, DP 1"; empty without smallest_world
  std::vector<std::string> assumptions;       // e.g. the fragmentation factor
  bool operator==(const MemoryReport&) const = default;
};

// One sentence per fact: fits or not, on which rank, the components from the largest, the smallest world that fits or
// what else to do. Bytes in GB (1e9), capacity also in GiB.
std::string verdict(const MemoryReport& report);

} // namespace tessella
