// Time and disturbance on the host: wall time of the steady clock, and whether the thread really had its core.
#pragma once

#include <string>

#include "calib/protocol/clock_source.h"
#include "calib/protocol/measure.h"

namespace tessella::calib {

double wall_seconds();       // steady clock
double thread_cpu_seconds(); // of the calling thread

// How long the calling thread was kept from running since start(): wall time that was not its CPU time. It must not
// sleep in between.
class Disturbance {
 public:
  void start();
  double seconds() const;

 private:
  double wall_ = 0.0;
  double cpu_ = 0.0;
};

class HostTimer : public Timer {
 public:
  double seconds_of(const std::function<void()>& work) override;
};

// A sample is throttled when its thread was kept from running for more than 1 % of it (at least 10 us, which timer
// interrupts take): preempted by another process, or its virtual machine by another guest. The CPU clock is not
// reported: guests cannot read it.
class SchedulerClock : public ClockSource {
 public:
  void begin() override;
  DeviceState end() override;

 private:
  Disturbance disturbance_;
  double begin_ = 0.0;
};

// "AMD EPYC 9354" from /proc/cpuinfo, or "unknown CPU".
std::string cpu_name();
// What counts as "the cache" on the host: the largest that belongs to a core alone (usually L2), because that is what a
// kernel finds or does not find from the kernel before it. 1 MiB where the system does not say.
std::size_t private_cache();

} // namespace tessella::calib
