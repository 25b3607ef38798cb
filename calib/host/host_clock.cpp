#include "calib/host/host_clock.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <fstream>

namespace tessella::calib {

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double thread_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void Disturbance::start() {
  wall_ = wall_seconds();
  cpu_ = thread_cpu_seconds();
}

double Disturbance::seconds() const {
  const double cpu = thread_cpu_seconds() - cpu_;
  return std::max(0.0, wall_seconds() - wall_ - cpu);
}

double HostTimer::seconds_of(const std::function<void()>& work) {
  const double begin = wall_seconds();
  work();
  return wall_seconds() - begin;
}

void SchedulerClock::begin() {
  begin_ = wall_seconds();
  disturbance_.start();
}

DeviceState SchedulerClock::end() {
  const double lost = disturbance_.seconds();
  DeviceState state;
  state.throttled = lost > std::max(10e-6, 0.01 * (wall_seconds() - begin_));
  if (state.throttled) state.reason = "preempted";
  return state;
}

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t at = line.find(": ");
    if (at != std::string::npos) return line.substr(at + 2);
  }
  return "unknown CPU";
}

std::size_t private_cache() {
  std::ifstream in("/sys/devices/system/cpu/cpu0/cache/index2/size");
  std::size_t kib = 0;
  char unit = 0;
  if (in >> kib >> unit && unit == 'K' && kib > 0) return kib << 10;
  return std::size_t{1} << 20;
}

} // namespace tessella::calib
