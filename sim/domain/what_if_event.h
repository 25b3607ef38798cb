// What happens to a running job: hardware that slows down or fails, fabric that jitters, layers that move, and
// remedies, each over a range of steps. Plain values; sim/planner/over_time.h turns them into what runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/units.h"
#include "sim/domain/plan.h"

namespace tessella {

// Steps first .. last, both included, counted from 0; no last: to the end.
struct StepRange {
  std::int64_t first = 0;
  std::optional<std::int64_t> last;
  bool operator==(const StepRange&) const = default;

  bool holds(std::int64_t step) const { return step >= first && (!last || step <= *last); }
};

// All compute of a GPU takes `factor` times as long. Nobody is told: plans and fill estimates stay those of the
// profile.
struct SlowGpu {
  std::int64_t rank = 0;
  double factor = 1.0;
  bool operator==(const SlowGpu&) const = default;
};

// The NIC of a GPU has 1 / factor of its bandwidth; every collective it is part of waits for it.
struct SlowNic {
  std::int64_t rank = 0;
  double factor = 1.0;
  bool operator==(const SlowNic&) const = default;
};

// The same for its port inside the node.
struct SlowLink {
  std::int64_t rank = 0;
  double factor = 1.0;
  bool operator==(const SlowLink&) const = default;
};

// NIC number `rail` of every node is gone: its GPU shares the NIC of its neighbour, both at half bandwidth.
struct FailedRail {
  std::int64_t rail = 0;
  bool operator==(const FailedRail&) const = default;
};

// Relative standard deviation of every op's duration, instead of the scenario's.
struct MoreJitter {
  double kernel = 0.0;
  double fabric = 0.0;
  bool operator==(const MoreJitter&) const = default;
};

// Another partition of the layers. Weights and optimizer state of the layers that change their pipeline rank move
// before the first step of the range, and back after its last.
struct MoveLayers {
  std::string layout;  // Megatron's pipeline layout string
  Partition partition; // what it says
  bool operator==(const MoveLayers&) const = default;
};

// An optical circuit for the gradient and parameter collectives of dense weights: their own bandwidth per GPU instead
// of the NIC's. Setting it up stops the job once.
struct DenseCircuit {
  Bandwidth bandwidth;
  Duration setup;
  bool operator==(const DenseCircuit&) const = default;
};

// GPUs of one node take over each other's expert work; tokens and weights cross the scale-up links.
struct WorkStealing {
  bool operator==(const WorkStealing&) const = default;
};

using WhatIf = std::variant<SlowGpu, SlowNic, SlowLink, FailedRail, MoreJitter, MoveLayers, DenseCircuit, WorkStealing>;

struct WhatIfEvent {
  StepRange steps;
  WhatIf what;
  bool operator==(const WhatIfEvent&) const = default;
};

// "slow_gpu rank 5 x1.3"; as the key of the experiment is spelled.
std::string describe(const WhatIf& what);

} // namespace tessella
