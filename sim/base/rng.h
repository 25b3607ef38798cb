// Counter-based random numbers: a draw is a pure function of (seed, purpose, entity, index), so adding a consumer
// moves no other draw and any thread may compute any draw. Distributions are ours, because those of the standard
// library differ between implementations.
//
// Mixer: the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014, "Fast splittable pseudorandom number
// generators"), applied to a Weyl sequence keyed by the stream.
#pragma once

#include <cstdint>

namespace tessella {

constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// What a stream of draws is for. Append only: the value is part of the key.
enum class Purpose : std::uint32_t {
  routing_static = 1,
  routing_drift = 2,
  routing_noise = 3,
  routing_tokens = 4,
  kernel_jitter = 5,
  fabric_jitter = 6,
  sampling = 7,
  test = 100,
};

// An unbounded sequence of independent 64-bit words, addressed by index. O(1), no state.
class Stream {
 public:
  constexpr Stream(std::uint64_t seed, Purpose purpose, std::uint64_t entity = 0)
      : key_(mix64(mix64(seed + 0x9e3779b97f4a7c15ULL) ^
                   mix64((static_cast<std::uint64_t>(purpose) << 48) + 0xd1b54a32d192ed03ULL) ^
                   mix64(entity + 0x8cb92ba72f3d8dd7ULL))) {}

  constexpr std::uint64_t word(std::uint64_t index) const { return mix64(key_ + (index + 1) * 0x9e3779b97f4a7c15ULL); }
  // Uniform in the open interval (0, 1), 53 bits.
  constexpr double uniform(std::uint64_t index) const {
    return (static_cast<double>(word(index) >> 11) + 0.5) * 0x1.0p-53;
  }
  // Standard normal by inversion (Acklam's rational approximation, |relative error| < 1.2e-9).
  double normal(std::uint64_t index) const;
  // A stream of its own for a sub-entity.
  constexpr Stream substream(std::uint64_t entity) const {
    Stream s = *this;
    s.key_ = mix64(key_ ^ mix64(entity + 0x2545f4914f6cdd1dULL));
    return s;
  }

 private:
  std::uint64_t key_;
};

// Inverse of the standard normal distribution function; p in (0, 1).
double inverse_normal_cdf(double p);

} // namespace tessella
