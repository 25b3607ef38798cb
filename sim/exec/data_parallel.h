// The end of a step, after every replica has run its last action: gradient reduction, gradient norm, optimizer and
// parameter gather. This is where replicas meet.
//
//   per position: for each chunk, in the order their gradients become complete: reduce dense, then expert gradients
//                 (bucket by bucket as soon as they are ready with overlap_grad_reduce, else after the last action)
//   tied embedding gradients between the first and the last position
//   gradient norm: all ranks of the job meet
//   optimizer, then parameter gather (unless the next forward hides it)
//
// A collective of zero duration (one member, or an ideal fabric) is no op: nobody waits for it. O(world * chunks).
#pragma once

#include <memory>
#include <vector>

#include "sim/exec/program.h"
#include "sim/exec/replica.h"

namespace tessella {

// Records data-parallel collectives and the optimizer of chosen ranks; does nothing by default.
class StepTracer {
 public:
  StepTracer() = default;
  StepTracer(const Program& program, const TraceRequest& request, std::int64_t step, std::vector<TraceEvent>& events);
  void add(std::size_t replica, std::size_t position, std::size_t rank, char kind, const char* op, std::int32_t chunk,
           Time begin, Time end) const;

 private:
  const Program* program_ = nullptr;
  const TraceRequest* request_ = nullptr; // nothing: this step is not traced
  std::int32_t step_ = 0;
  std::vector<TraceEvent>* events_ = nullptr;
};

// Index of the lane of data-parallel collectives in traces, after those of OpClass.
inline constexpr std::int32_t kDataParallelLane = 4;

// Chunks of a position in the order in which their last backward ends: that of their reductions.
std::vector<std::size_t> completion_order(const std::vector<Slot>& slots, const Position& position);

// Advances the clocks and books of all groups of all replicas to the end of the step; returns the makespan, to which
// every rank's books then add up.
Time finish_step(const Program& program, const std::vector<std::unique_ptr<Replica>>& replicas,
                 const StepTracer& tracer = {});

} // namespace tessella
