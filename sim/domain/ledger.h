// Where every picosecond of every rank went. A row splits [0, makespan) of one rank exactly:
//   compute + overlapped + exposed(ep, tp, cp, pp, dp) + imbalance + bubble(warmup, drain, dependency) + optimizer
//   = makespan, to the picosecond.
// The point of view is the compute lane: `overlapped` is compute during which a collective moved data on the same rank,
// `exposed` is an idle compute lane while one moves data, `imbalance` an idle lane while one waits for its last rank.
#pragma once

#include <array>
#include <cstdint>

#include "sim/base/units.h"

namespace tessella {

enum class Share : std::uint8_t {
  compute,
  overlapped,
  exposed_ep,
  exposed_tp,
  exposed_cp,
  exposed_pp,
  exposed_dp,
  imbalance,
  bubble_warmup,
  bubble_drain,
  bubble_dependency,
  optimizer,
};
inline constexpr int kNumShares = 12;
const char* name(Share share); // "compute", "exposed_ep", ...

struct LedgerRow {
  std::array<Duration, kNumShares> share{};

  Duration& operator[](Share s) { return share[static_cast<std::size_t>(s)]; }
  Duration operator[](Share s) const { return share[static_cast<std::size_t>(s)]; }
  Duration total() const;
  LedgerRow& operator+=(const LedgerRow& o);
  bool operator==(const LedgerRow&) const = default;
};

} // namespace tessella
