// In which order to measure when time is short: the most informative shapes first.
//
// A job is worth the share of a training step that its op takes (its time by a roofline, times how often the step runs
// it). Jobs are dealt in rounds: the weightiest job of every op, then the second of every op, and so on, so that after
// the first round nothing is missing altogether, and a shorter budget costs detail before it costs coverage.
#pragma once

#include <chrono>
#include <vector>

#include "calib/protocol/op_case.h"

namespace tessella::calib {

struct Job {
  OpShape shape;
  double step_seconds = 0.0; // by a roofline; only the order matters
};

// Equal shapes become one job with the summed share. O(n log n), and deterministic.
std::vector<Job> order_by_information(std::vector<Job> jobs);

// Time left of --budget.
class Budget {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Budget(double seconds)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  bool spent() const { return Clock::now() >= end_; }
  double left() const { return std::chrono::duration<double>(end_ - Clock::now()).count(); }

 private:
  Clock::time_point end_;
};

// Seconds of "90s", "10m", "1h". Throws InputError naming the flag.
double parse_budget(const std::string& text);

} // namespace tessella::calib
