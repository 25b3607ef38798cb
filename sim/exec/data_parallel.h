// The end of a step, after every replica has run its last action: gradient reduction, gradient norm, optimizer and
// parameter gather. This is where replicas meet.
//
//   per position: for each chunk, in the order their gradients become complete: reduce dense, then expert gradients
//                 (as soon as they are ready with overlap_grad_reduce, else after the last action)
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

// Advances the clocks and books of all groups of all replicas to the end of the step; returns the makespan, to which
// every rank's books then add up.
Time finish_step(const Program& program, const std::vector<std::unique_ptr<Replica>>& replicas);

} // namespace tessella
