// When a measurement has enough samples: once its median is known well enough, or at a limit.
#pragma once

#include <cstdint>
#include <vector>

#include "calib/protocol/statistics.h"

namespace tessella::calib {

struct StopLimits {
  double ci95 = 0.01; // enough once the median is known this well
  std::int64_t min_samples = 11;
  std::int64_t max_samples = 1000;
  double max_seconds = 2.0; // of measured time
};

// Stops on confidence; gives up at the limits, and the summary then shows how sure it is.
class ConfidenceStop {
 public:
  explicit ConfidenceStop(StopLimits limits) : limits_(limits) {}
  void add(double seconds);
  bool finished() const { return finished_; }
  const std::vector<double>& samples() const { return samples_; }

 private:
  StopLimits limits_;
  std::vector<double> samples_;
  double total_ = 0.0;
  std::size_t next_look_ = 0; // sorting after every sample would cost O(n^2 log n)
  bool finished_ = false;
};

} // namespace tessella::calib
