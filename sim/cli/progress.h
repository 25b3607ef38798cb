// Long work says how far it is, on standard error, once it has taken two seconds; and can be interrupted.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace tessella {

class Progress {
 public:
  explicit Progress(std::string what) : what_(std::move(what)) {}
  // At most one line a second, and fewer the longer it takes: some 60 in the first hour after the first minute.
  void update(std::int64_t done, std::int64_t total);
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  Clock::time_point start_ = Clock::now();
  double said_at_ = 1.0;
};

// Becomes true on the first SIGINT or SIGTERM after this call; a second one ends the program at once.
const std::atomic<bool>& interrupt_flag();

// Highest resident memory of this process so far.
std::int64_t peak_rss_bytes();

} // namespace tessella
