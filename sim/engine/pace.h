// How fast work proceeds while neighbours run: a slowdown s >= 1 in fixed point, so that progress is integer arithmetic
// and two implementations that cut time at the same points agree to the picosecond.
//
//   work done in a span d at slowdown s   floor(d / s)
//   span needed for work w                ceil(w * s)
//
// Work that is not finished by a cut leaves at least 1 ps: ceil(w * s) > d implies floor(d / s) < w.
#pragma once

#include <cmath>
#include <cstdint>

#include "sim/base/check.h"
#include "sim/base/units.h"

namespace tessella {

class Pace {
 public:
  static constexpr int kFractionBits = 20;

  constexpr Pace() = default; // full speed
  // `slowdown` in [1, 4096], rounded to the nearest 2^-20.
  static Pace slowed_by(double slowdown) {
    TSL_CHECK(slowdown >= 1.0 && slowdown <= 4096.0);
    Pace p;
    p.slowdown_ = std::llround(std::ldexp(slowdown, kFractionBits));
    return p;
  }
  constexpr bool operator==(const Pace&) const = default;
  constexpr bool full_speed() const { return slowdown_ == kOne; }
  constexpr double slowdown() const { return static_cast<double>(slowdown_) / static_cast<double>(kOne); }

  constexpr Duration span_for(Duration work) const {
    if (full_speed()) return work;
    return {static_cast<std::int64_t>((static_cast<Wide>(work.ps) * slowdown_ + (kOne - 1)) >> kFractionBits)};
  }
  constexpr Duration work_in(Duration span) const {
    if (full_speed()) return span;
    return {static_cast<std::int64_t>((static_cast<Wide>(span.ps) << kFractionBits) / slowdown_)};
  }

 private:
  using Wide = __int128;
  static constexpr std::int64_t kOne = std::int64_t{1} << kFractionBits;
  std::int64_t slowdown_ = kOne;
};

} // namespace tessella
