// Can this order run at all? Checks, in this order: the sizes fit; every action stands on a rank that holds its stage;
// a pair is a forward and a backward of different micro-batches; every action occurs exactly once; nothing stands
// before what it needs on its own rank; and the ranks together never wait in a circle, with unlimited receive buffers
// or with a given number of them. O(actions).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/domain/schedule.h"
#include "sim/schedule/slot_index.h"

namespace tessella {

enum class ScheduleFault { shape, placement, bad_pair, duplicate, missing, order, deadlock };

struct ScheduleProblem {
  ScheduleFault fault = ScheduleFault::shape;
  std::string message;
  std::optional<SlotRef> where; // the first offending cell; slot == list length means "at the end of this row"
  std::vector<SlotRef> cycle;   // deadlock: each cell waits for the next, the last for the first
  bool operator==(const ScheduleProblem&) const = default;
};

// How many tensors a rank can hold that were sent to it and not yet used, per sending rank: activations and gradients.
// A rank that finds its receiver full waits, after its action, before its next one.
struct ReceiveBuffers {
  std::vector<std::int32_t> forward;  // [rank]
  std::vector<std::int32_t> backward; // [rank]
  bool operator==(const ReceiveBuffers&) const = default;
};

// What Megatron allocates for interleaved 1F1B: N-p+1 forward buffers on rank 0 and backward buffers on the last rank,
// one everywhere else.
ReceiveBuffers megatron_receive_buffers(std::int32_t pp, std::int32_t group_size);

// Nothing when the schedule is sound; otherwise the first problem. Without `buffers` they are unlimited.
std::optional<ScheduleProblem> validate(const Schedule& schedule,
                                        const std::optional<ReceiveBuffers>& buffers = std::nullopt);

} // namespace tessella
