// Messages between pipeline stages: one place for each (stage that receives, direction, micro-batch, EP rank), so a
// sender never waits for a receiver, as with asynchronous sends. The sender copies; the receiver reads in place.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "calib/host/crew.h"
#include "calib/host/tensor.h"
#include "calib/loop/plan.h"
#include "sim/domain/schedule.h"

namespace tessella::calib {

// When a message was waited for. [begin, sending) is a bubble: nobody had anything to send; [sending, end) is transfer.
struct ReceiveTimes {
  double begin = 0.0;
  double sending = 0.0; // when the sender began, but not before `begin` and not after `end`
  double end = 0.0;
};

class MessageBoard {
 public:
  MessageBoard(const LoopModel& model, const LoopPlan& plan, const StopFlag& stop);

  // The input of `to`: the activations of a forward, the gradients of a backward. `step` counts from 1; a message of a
  // step is overwritten in the next, so all ranks must meet between steps.
  void send(const Action& to, int ep_rank, std::int64_t step, const Tensor& values);
  const Tensor& receive(const Action& to, int ep_rank, std::int64_t step, ReceiveTimes& times);

 private:
  struct Place {
    std::atomic<std::int64_t> step{0};
    double sending = 0.0;
    Tensor values;
  };
  Place& place(const Action& to, int ep_rank);

  int stages_;
  int micro_batches_;
  int ep_;
  const StopFlag* stop_;
  bool yields_;
  std::vector<std::unique_ptr<Place>> places_;
};

} // namespace tessella::calib
