#include "calib/protocol/stopping.h"

#include <algorithm>

namespace tessella::calib {

void ConfidenceStop::add(double seconds) {
  samples_.push_back(seconds);
  total_ += seconds;
  const auto n = static_cast<std::int64_t>(samples_.size());
  if (n >= limits_.max_samples || total_ >= limits_.max_seconds) finished_ = true;
  if (n < limits_.min_samples || samples_.size() < next_look_ || finished_) return;
  next_look_ = samples_.size() + std::max<std::size_t>(1, samples_.size() / 8);
  finished_ = summary_of(samples_).ci95 <= limits_.ci95;
}

} // namespace tessella::calib
