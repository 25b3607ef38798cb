// What a user asks of the bubble filler: which policy runs deferrable work in idle time, which work that is, and what
// deciding may cost. The policies themselves are rows of sim/exec/fill_policies.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"

namespace tessella {

// Kinds of work that may leave their place.
enum class Movable : std::uint8_t {
  wgrad,              // weight gradients, deferred
  gradient_reduction, // on its own lane from the moment gradients are complete (optimizer.overlap_grad_reduce)
  recompute,          // selective recomputation, ahead of its backward: activations live longer
  optimizer_prefetch, // offloaded optimizer state back from host memory, ahead of the optimizer: memory held till then
  checkpoint_hash, // of parameters and optimizer state; takes place even if no policy moves it, at the end of the step
};

struct BubbleFillerSpec {
  std::string policy = "none";
  std::int64_t pool = 8;              // deferred weight gradients a GPU may hold
  Duration decision_cost{10'000'000}; // of one decision, on the compute lane: 10 us
  std::vector<Movable> movable = {Movable::wgrad};

  bool moves(Movable kind) const { return std::find(movable.begin(), movable.end(), kind) != movable.end(); }
  bool operator==(const BubbleFillerSpec&) const = default;
};

} // namespace tessella
