// Threads that stand for ranks: pinned to cores of their own, started together, and ended together when one fails.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace tessella::calib {

// CPUs this process may run on, ascending.
std::vector<int> usable_cpus();

// Pins the calling thread. False where the system refuses.
bool pin_to_cpu(int cpu);

// While it lives, the calling thread and the threads it starts run before all ordinary work (SCHED_FIFO at the lowest
// real-time priority), where the system grants that: other programs then no longer cut samples short. The kernel still
// gives them about a twentieth of the time.
class RealtimeScope {
 public:
  explicit RealtimeScope(bool wanted);
  ~RealtimeScope();
  RealtimeScope(const RealtimeScope&) = delete;
  RealtimeScope& operator=(const RealtimeScope&) = delete;
  bool granted() const { return granted_; }

 private:
  bool granted_ = false;
};

// Set when a rank failed; ranks that wait for it must look at it and throw Stopped.
using StopFlag = std::atomic<bool>;

// Thrown by a rank that waits in vain because another one failed.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "another rank failed"; }
};

// Runs body(rank) on `ranks` threads, thread r on the r-th usable CPU (again from the first when there are more), and
// waits for all. When a body throws, `stop` is set, the others end with Stopped, and the first exception is thrown
// here.
void run_ranks(int ranks, StopFlag& stop, const std::function<void(int)>& body);

} // namespace tessella::calib
