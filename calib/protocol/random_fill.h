// Random inputs. Never zeros: a kernel runs faster on zeros than on data (less switching, less power), and zeros hide
// what was not written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessella::calib {

// Uniform in [-1, 1), a pure function of (seed, index); 24 random bits each.
void fill_random(std::span<float> values, std::uint64_t seed);

// Something no correct kernel writes: a quiet NaN.
void poison(std::span<float> values);

} // namespace tessella::calib
