// Random inputs on the GPU, and a poison that no correct kernel writes.
#pragma once

#include <cstdint>

#include "calib/device/device_memory.h"

namespace tessella::calib {

enum class Element { bf16, e4m3, f32 };

inline std::size_t size_of(Element e) {
  return e == Element::f32 ? 4 : e == Element::bf16 ? 2 : 1;
}

// Uniform in [-1, 1), a pure function of (seed, index); never all zeros.
void fill_random(const DeviceMemory& memory, Element type, std::uint64_t seed, const Stream& stream);
// All bytes 0xff: not-a-number in every type here.
void poison(const DeviceMemory& memory, const Stream& stream);

// Memory of `count` random elements.
DeviceMemory random_memory(std::size_t count, Element type, std::uint64_t seed, const Stream& stream);
DeviceMemory poisoned_memory(std::size_t bytes, const Stream& stream);

} // namespace tessella::calib
