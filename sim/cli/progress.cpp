#include "sim/cli/progress.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

namespace tessella {
namespace {

// Signal handlers can reach nothing but globals; this is the only one of the program.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int signal) {
  interrupted.store(true);
  std::signal(signal, SIG_DFL);
}

} // namespace

void Progress::update(std::int64_t done, std::int64_t total) {
  const double now = seconds();
  if (now < said_at_ + std::max(1.0, 0.05 * now) || done == 0) return;
  said_at_ = now;
  const double left = now / static_cast<double>(done) * static_cast<double>(total - done);
  fmt::print(stderr, "{}: {} of {}, {:.0f} s, about {:.0f} s left\n", what_, done, total, now, left);
}

const std::atomic<bool>& interrupt_flag() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  return interrupted;
}

std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

} // namespace tessella
