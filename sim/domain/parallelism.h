// How the job is cut over ranks. Two grids share the same ranks (parallel folding):
//   dense   tp-cp-dp-pp      world = TP * CP * DP * PP
//   experts etp-ep-edp-pp    world = ETP * EP * EDP * PP
// EP never multiplies the world. sim/domain/legality.h checks the rules; every value here may be illegal.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tessella {

struct Parallelism {
  std::int64_t world_size = 1;
  std::int64_t tp = 1;  // tensor_model_parallel_size
  std::int64_t cp = 1;  // context_parallel_size
  std::int64_t pp = 1;  // pipeline_model_parallel_size
  std::int64_t vpp = 1; // virtual stages (model chunks) per pipeline rank
  std::int64_t ep = 1;  // expert_model_parallel_size
  std::int64_t etp = 1; // expert_tensor_parallel_size
  bool sequence_parallel = true;
  bool operator==(const Parallelism&) const = default;

  std::int64_t num_stages() const { return pp * vpp; }
  // The following hold for legal grids only.
  std::int64_t dp() const { return world_size / (tp * cp * pp); }
  std::int64_t edp() const { return world_size / (etp * ep * pp); }
  // Ranks of one pipeline position that TP, CP and EP collectives tie together.
  std::int64_t group_size() const { return std::max(tp * cp, etp * ep); }
  // Independent pipelines of such groups: world = replicas * pp * group_size.
  std::int64_t replicas() const { return world_size / (pp * group_size()); }
};

} // namespace tessella
