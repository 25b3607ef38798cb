#include "calib/loop/message_board.h"

#include <sched.h>

#include <algorithm>

#include "calib/host/host_clock.h"

namespace tessella::calib {

MessageBoard::MessageBoard(const LoopModel& model, const LoopPlan& plan, const StopFlag& stop)
    : stages_(plan.stages()), micro_batches_(plan.micro_batches), ep_(plan.ep), stop_(&stop),
      yields_(static_cast<std::size_t>(plan.world()) > usable_cpus().size()) {
  for (int i = 0; i < 2 * stages_ * micro_batches_ * ep_; ++i) {
    places_.push_back(std::make_unique<Place>());
    places_.back()->values.resize(model.seq, model.hidden);
  }
}

MessageBoard::Place& MessageBoard::place(const Action& to, int ep_rank) {
  const int direction = to.kind == ActionKind::F ? 0 : 1;
  const int index = ((direction * stages_ + to.stage.value) * micro_batches_ + to.micro_batch.value) * ep_ + ep_rank;
  return *places_[static_cast<std::size_t>(index)];
}

void MessageBoard::send(const Action& to, int ep_rank, std::int64_t step, const Tensor& values) {
  Place& p = place(to, ep_rank);
  p.sending = wall_seconds();
  std::copy(values.values().begin(), values.values().end(), p.values.values().begin());
  p.step.store(step, std::memory_order_release);
}

const Tensor& MessageBoard::receive(const Action& to, int ep_rank, std::int64_t step, ReceiveTimes& times) {
  Place& p = place(to, ep_rank);
  times.begin = wall_seconds();
  while (p.step.load(std::memory_order_acquire) != step) {
    if (stop_->load(std::memory_order_relaxed)) throw Stopped();
    if (yields_) sched_yield();
  }
  times.end = wall_seconds();
  times.sending = std::clamp(p.sending, times.begin, times.end);
  return p.values;
}

} // namespace tessella::calib
