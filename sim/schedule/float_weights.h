// The last step of the controllable-memory schedules: given the order of F and I on each rank, place the W's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tessella {

// Types 0..3: F chunk 0, F chunk 1, I chunk 1, I chunk 0; 4 and 5: the W of chunk 1 and of chunk 0.
struct UnitAction {
  std::int32_t type = 0;
  std::int32_t micro_batch = 0;
};
using UnitOrder = std::vector<UnitAction>;

// What a rank does when it has no first-chunk forward left: its order, or the first of it that is ready.
enum class Drain { keep_order, take_ready };

struct UnitRun {
  std::vector<UnitOrder> ranks;
  std::int32_t makespan = 0;
};

// Runs all ranks in unit slots. A W runs when the rank's next action is not ready, or is a forward and `cap`
// activations are live. Nothing when the ranks come to a halt, which only take_ready can cause. O(actions).
std::optional<UnitRun> float_weights(const std::vector<UnitOrder>& orders, std::int32_t cap, Drain drain);

} // namespace tessella
