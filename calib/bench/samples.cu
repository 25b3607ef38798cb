#include <array>
#include <cmath>

#include "calib/bench/samples.h"

namespace tessella::calib {

double SampleBuffer::error(const Stream& stream) const {
  std::array<double, 2 * kSamples> values{};
  CALIB_CUDA(cudaMemcpyAsync(values.data(), memory_.get(), sizeof values, cudaMemcpyDeviceToHost, stream.get()));
  stream.wait();
  double difference = 0.0;
  double size = 0.0;
  for (int i = 0; i < kSamples; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double off = values[at] - values[at + kSamples];
    difference += off * off;
    size += values[at + kSamples] * values[at + kSamples];
  }
  return std::sqrt(difference / size);
}

} // namespace tessella::calib
