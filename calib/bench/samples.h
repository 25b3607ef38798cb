// Checking a result by samples: a few hundred outputs are computed again, one by one, by the plainest possible kernel
// in double precision, and compared. A whole reference of a large GEMM would take longer than the measurement.
#pragma once

#include <cstdint>
#include <vector>

#include "calib/device/device_memory.h"

namespace tessella::calib {

inline constexpr int kSamples = 512;

// Pairs (got, expected) that a check kernel wrote, kSamples of each.
class SampleBuffer {
 public:
  SampleBuffer() : memory_(2 * kSamples * sizeof(double)) {}
  double* got() const { return memory_.as<double>(); }
  double* expected() const { return memory_.as<double>() + kSamples; }
  // Waits for the stream; |got - expected| / |expected|. Not a number when any output was not written.
  double error(const Stream& stream) const;

 private:
  DeviceMemory memory_;
};

} // namespace tessella::calib
