// What a rank did when: one event per kernel and per transfer, in memory that is there before the step starts.
#pragma once

#include <cstddef>
#include <vector>

#include "calib/host/host_clock.h"
#include "sim/domain/schedule.h"

namespace tessella::calib {

enum class LoopLane : unsigned char { compute, ep, p2p, dp };
const char* name(LoopLane lane);

struct LoopEvent {
  const char* op = "";
  LoopLane lane = LoopLane::compute;
  Action action; // of the pipeline; stage -1 outside of it
  bool in_action = false;
  double begin = 0.0;  // seconds since the step began
  double waited = 0.0; // of which waiting: for late ranks of a collective, or for a message that was not sent yet
  double end = 0.0;
};

class Recorder {
 public:
  void begin_step(double now) {
    origin_ = now;
    events_.clear();
  }
  void begin_action(const Action& a) {
    action_ = a;
    in_action_ = true;
  }
  void end_action() { in_action_ = false; }

  // Runs a kernel and records it.
  template <class Kernel>
  void run(const char* op, Kernel kernel) {
    const double begin = wall_seconds();
    kernel();
    add(op, LoopLane::compute, begin, 0.0, wall_seconds());
  }
  void add(const char* op, LoopLane lane, double begin, double waited, double end) {
    events_.push_back({op, lane, action_, in_action_, begin - origin_, waited, end - origin_});
  }

  const std::vector<LoopEvent>& events() const { return events_; }

 private:
  double origin_ = 0.0;
  Action action_;
  bool in_action_ = false;
  std::vector<LoopEvent> events_; // keeps its memory from step to step
};

} // namespace tessella::calib
