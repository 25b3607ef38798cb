// Quantities with units. Time is integer picoseconds, so equal inputs give equal bits everywhere; a rounding
// happens in exactly one place, round_to_picoseconds(): nearest, and at least 1 ps for work that is not empty.
//
//   Duration d = Bytes{64 << 20} / Bandwidth{50e9};   // 1342177280 ps
//
// All types are values with defaulted comparison; construct them with the unit spelled out.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

#include "sim/base/check.h"

namespace tessella {

// A length of time in picoseconds; may be negative only as the difference of two times.
struct Duration {
  std::int64_t ps = 0;

  static constexpr Duration max() { return {std::numeric_limits<std::int64_t>::max()}; }
  constexpr double seconds() const { return static_cast<double>(ps) * 1e-12; }
  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration o) const { return {ps + o.ps}; }
  constexpr Duration operator-(Duration o) const { return {ps - o.ps}; }
  constexpr Duration operator*(std::int64_t n) const { return {ps * n}; }
  constexpr Duration& operator+=(Duration o) { return ps += o.ps, *this; }
  constexpr Duration& operator-=(Duration o) { return ps -= o.ps, *this; }
};

// A point in time, picoseconds since the start of the step.
struct Time {
  std::int64_t ps = 0;

  constexpr double seconds() const { return static_cast<double>(ps) * 1e-12; }
  constexpr auto operator<=>(const Time&) const = default;
  constexpr Time operator+(Duration d) const { return {ps + d.ps}; }
  constexpr Time operator-(Duration d) const { return {ps - d.ps}; }
  constexpr Duration operator-(Time o) const { return {ps - o.ps}; }
};

// Longest span a single op may take: about 106 days. Larger values mean an input nobody can have meant.
inline constexpr double kMaxSeconds = 9.2e6;

// The one rounding rule of the project. `seconds` must be finite, >= 0 and <= kMaxSeconds.
inline Duration round_to_picoseconds(double seconds) {
  TSL_CHECK(std::isfinite(seconds) && seconds >= 0.0 && seconds <= kMaxSeconds);
  if (seconds == 0.0) return {0};
  const double ps = std::nearbyint(seconds * 1e12);
  return {ps < 1.0 ? 1 : static_cast<std::int64_t>(ps)};
}

struct Bytes {
  std::int64_t count = 0;
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes operator+(Bytes o) const { return {count + o.count}; }
  constexpr Bytes operator-(Bytes o) const { return {count - o.count}; }
  constexpr Bytes operator*(std::int64_t n) const { return {count * n}; }
  constexpr Bytes& operator+=(Bytes o) { return count += o.count, *this; }
};

// Floating-point operations; 1 multiply-add = 2. A double, because a step of a large job exceeds 2^63.
struct Flops {
  double count = 0.0;
  constexpr auto operator<=>(const Flops&) const = default;
  constexpr Flops operator+(Flops o) const { return {count + o.count}; }
  constexpr Flops operator*(double n) const { return {count * n}; }
  constexpr Flops& operator+=(Flops o) { return count += o.count, *this; }
};

// Bytes per second, decimal (1 GB/s = 1e9). Infinity is legal and means "costs nothing".
struct Bandwidth {
  double bytes_per_second = 0.0;
  constexpr auto operator<=>(const Bandwidth&) const = default;
  constexpr Bandwidth operator*(double f) const { return {bytes_per_second * f}; }
};

// Floating-point operations per second.
struct FlopRate {
  double flops_per_second = 0.0;
  constexpr auto operator<=>(const FlopRate&) const = default;
  constexpr FlopRate operator*(double f) const { return {flops_per_second * f}; }
};

inline Duration operator/(Bytes b, Bandwidth bw) {
  return round_to_picoseconds(static_cast<double>(b.count) / bw.bytes_per_second);
}
inline Duration operator/(Flops f, FlopRate r) {
  return round_to_picoseconds(f.count / r.flops_per_second);
}

constexpr Time max(Time a, Time b) {
  return a < b ? b : a;
}
constexpr Time min(Time a, Time b) {
  return b < a ? b : a;
}
constexpr Duration max(Duration a, Duration b) {
  return a < b ? b : a;
}
constexpr Duration min(Duration a, Duration b) {
  return b < a ? b : a;
}

} // namespace tessella
