// How much a compute kernel slows while an expert all-to-all is resident on the same GPU: three mechanisms, each a pure
// function (layer_costs, section 11.3), and how they combine per class of kernel.
//   (a) the communication kernel holds SMs       (b) it draws HBM bandwidth       (c) its own rate needs SMs
// All factors are >= 1 and multiply the duration the kernel has alone.
#pragma once

#include <cstdint>
#include <optional>

namespace tessella {

// Slowdown of one op beside an expert collective that only waits for its peers, or that moves data.
struct Contention {
  double waiting = 1.0;
  double moving = 1.0;
  bool operator==(const Contention&) const = default;
};

// (a) A grid of `tiles` equal blocks, one per SM at a time: whole waves on the SMs that are left.
double sm_waves_factor(std::int64_t tiles, std::int64_t sms, std::int64_t held);
// (a) A persistent kernel that spreads its work over the SMs that are left; 112 of 132 SMs: 1.18.
double sm_persistent_factor(std::int64_t sms, std::int64_t held);
// (b) The kernel draws `demand` bytes/s alone, the neighbour `neighbour`; together at most `capacity`, shared in
// proportion to demand.
double hbm_factor(double demand, double neighbour, double capacity);
// (c) The share of its full rate a communication kernel reaches on `sms` SMs; saturates at `saturating_sms`.
double link_rate_share(std::int64_t sms, std::int64_t saturating_sms);

// HBM traffic of a communication kernel per byte it delivers: read, staging write and read, write. The literature says
// 2 to 4 (section 11.3 b); we take the middle.
inline constexpr double kHbmPassesPerByte = 3.0;

// The communication kernel next door.
struct Neighbour {
  std::int64_t sms_held = 0;
  double hbm_rate = 0.0; // bytes/s it draws while data moves
  bool operator==(const Neighbour&) const = default;
};

// The GPU, and, where the profile has an entry of form `contention`, its measured factors instead of mechanism (b).
struct ContentionModel {
  std::int64_t sms = 0;
  double hbm_capacity = 0.0; // bytes/s streaming kernels reach
  Neighbour neighbour;
  struct Measured {
    double gemm = 1.0;     // beside data moving, beyond the SMs held
    double membound = 1.0; // HBM-bound kernel beside data moving
    double norm = 1.0;     // row reductions beside data moving
    double waiting = 1.0;  // HBM-bound kernel beside a waiting one
  };
  std::optional<Measured> measured;

  // Tensor-core kernels fill an SM's shared memory, so an SM held is an SM lost whether the neighbour waits or moves.
  // `sm_factor` is mechanism (a) of that kernel, from its own tiling.
  Contention tensor(double sm_factor, double demand) const;
  // Streaming kernels (norms, activations, permutes, casts): their small blocks fit beside a waiting kernel; what the
  // held SMs cost is only the share of time that HBM does not limit.
  Contention streaming(double demand) const;
  // Norms launch two blocks per SM and no more; those that find no free SM run in another wave.
  Contention norm(double demand) const;
};

} // namespace tessella
