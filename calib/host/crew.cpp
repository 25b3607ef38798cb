#include "calib/host/crew.h"

#include <pthread.h>
#include <sched.h>

#include <exception>
#include <mutex>
#include <thread>

#include "sim/base/check.h"

namespace tessella::calib {

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int c = 0; c < CPU_SETSIZE; ++c)
      if (CPU_ISSET(c, &set)) cpus.push_back(c);
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

bool pin_to_cpu(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

RealtimeScope::RealtimeScope(bool wanted) {
  sched_param lowest{};
  lowest.sched_priority = sched_get_priority_min(SCHED_FIFO);
  granted_ = wanted && pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest) == 0;
}

RealtimeScope::~RealtimeScope() {
  const sched_param ordinary{};
  if (granted_) pthread_setschedparam(pthread_self(), SCHED_OTHER, &ordinary);
}

void run_ranks(int ranks, StopFlag& stop, const std::function<void(int)>& body) {
  TSL_CHECK_OP(ranks, >=, 1);
  const std::vector<int> cpus = usable_cpus();
  std::exception_ptr first;
  std::mutex guard;
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      pin_to_cpu(cpus[static_cast<std::size_t>(r) % cpus.size()]);
      try {
        body(r);
      } catch (const Stopped&) { // the one that failed has said why
      } catch (...) {
        const std::lock_guard lock(guard);
        if (!first) first = std::current_exception();
        stop = true;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  if (first) std::rethrow_exception(first);
}

} // namespace tessella::calib
