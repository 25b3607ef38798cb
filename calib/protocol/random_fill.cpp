#include "calib/protocol/random_fill.h"

#include <algorithm>
#include <limits>

#include "sim/base/rng.h"

namespace tessella::calib {

void fill_random(std::span<float> values, std::uint64_t seed) {
  const std::uint64_t key = mix64(seed + 0x9e3779b97f4a7c15ULL);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t word = mix64(key + (i + 1) * 0x9e3779b97f4a7c15ULL);
    values[i] = static_cast<float>(word >> 40) * 0x1.0p-23F - 1.0F;
  }
}

void poison(std::span<float> values) {
  std::fill(values.begin(), values.end(), std::numeric_limits<float>::quiet_NaN());
}

} // namespace tessella::calib
