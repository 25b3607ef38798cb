// Exact min-max partition of a chain of layers into contiguous stages, under a memory cap per stage.
//
// Two solvers, one answer:
//   min_max_chain     additive stage times. Bisection over the bottleneck in whole picoseconds; a probe sweeps the
//                     reachable boundaries stage by stage with two pointers. Exact with stage-dependent times and caps,
//                     empty stages allowed or not: a probe keeps every reachable boundary, not only the farthest (which
//                     alone is exact only when empty stages are allowed). Among equals the evenest: smallest sum of
//                     squared stage times. O(stages * layers * (log(total) + longest stage)).
//   min_max_intervals any stage time, additive or not: the plain dynamic programme over (stages, layers),
//                     O(stages * layers^2) evaluations. Among equals it puts boundaries late.
//
// Sources: science/planning, section 3 (Pinar and Aykanat's probes; the exchange argument).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/units.h"

namespace tessella {

// What an additive cost model says of one layer and micro-batch, forward and backward together.
struct LayerTimes {
  Duration compute;
  Duration communication;  // that may hide under compute
  Duration unoverlappable; // blocks the compute lane whatever happens
  bool operator==(const LayerTimes&) const = default;
};

// C_eff = compute + communication - efficiency * min(compute, communication) + unoverlappable. Efficiency 1 is
// max(compute, communication) + unoverlappable, the popular additive cost; efficiency 0 is the serial time.
// `efficiency` in [0, 1].
Duration effective_cost(const LayerTimes& layer, double efficiency = 1.0);

struct ChainLayer {
  Duration time;
  Bytes state;      // weights, gradients, optimizer
  Bytes activation; // of one micro-batch in flight
  bool operator==(const ChainLayer&) const = default;
};

struct ChainStage {
  Duration time;              // on top of its layers: embedding, head, MTP
  Bytes memory;               // on top of its layers: their state, buffers
  std::int64_t in_flight = 1; // micro-batches whose activations live at the peak
  std::optional<Bytes> cap;   // nothing: unlimited
  bool operator==(const ChainStage&) const = default;
};

struct ChainPartition {
  std::vector<std::int32_t> ends; // [stage] one past its last layer
  Duration bottleneck;            // the largest stage time
  bool operator==(const ChainPartition&) const = default;
};

// Nothing when no partition respects the caps, or, without empty stages, when there are more stages than layers.
// Every time and size is >= 0.
std::optional<ChainPartition> min_max_chain(std::span<const ChainLayer> layers, std::span<const ChainStage> stages,
                                            bool allow_empty = false);

// The time of a stage that holds layers [first, end); nothing: it may not.
using IntervalTime = std::function<std::optional<Duration>(std::int32_t stage, std::int32_t first, std::int32_t end)>;
std::optional<ChainPartition> min_max_intervals(std::int32_t num_layers, std::int32_t num_stages,
                                                const IntervalTime& time, bool allow_empty = false);

// The least extra memory per GPU that makes the chain feasible, and the stage that then is full.
struct MemoryShortfall {
  Bytes missing;
  std::int32_t stage = 0;
  bool operator==(const MemoryShortfall&) const = default;
};
// Nothing when it is feasible as it is, or when no amount of memory helps. O(stages * layers * 40).
std::optional<MemoryShortfall> memory_shortfall(std::span<const ChainLayer> layers, std::span<const ChainStage> stages,
                                                bool allow_empty = false);

} // namespace tessella
