// A pipeline schedule is order, not time: for each pipeline rank the actions it runs, one after another.
// Text form (PyTorch's letters): action `2F0` = stage 2, forward, micro-batch 0; pair `(2F1;0B3)` = co-scheduled.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/ids.h"

namespace tessella {

// F forward, B full backward (= I then W), I input gradient, W weight gradient.
enum class ActionKind : std::uint8_t { F, B, I, W };

char letter(ActionKind kind);

struct Action {
  Stage stage;
  ActionKind kind = ActionKind::F;
  MicroBatch micro_batch;
  constexpr auto operator<=>(const Action&) const = default;
};

// One entry of a rank's list: a single action, or two that overlap ("first" is the forward in every schedule we ship).
struct Slot {
  Action first;
  std::optional<Action> second;
  bool operator==(const Slot&) const = default;
};

// Which pipeline rank runs which stage. Schedules with two directions (DualPipe, Chimera) place a stage twice.
struct Schedule {
  std::string name;
  std::int32_t num_ranks = 0;
  std::int32_t num_stages = 0;
  std::int32_t num_micro_batches = 0;
  std::vector<std::vector<Slot>> ranks;         // [pp rank] -> slots in order
  std::vector<std::vector<PpRank>> stage_ranks; // [stage] -> the ranks that hold it, ascending (2 with two directions)
  // Padding: the last micro-batches carry no tokens (Tessera's shadow actions). They keep their place in the order and
  // cost next to nothing; num_micro_batches counts them.
  std::int32_t num_shadow_micro_batches = 0;
  bool operator==(const Schedule&) const = default;

  bool is_shadow(MicroBatch j) const { return j.value >= num_micro_batches - num_shadow_micro_batches; }
};

// What a user may ask for; sim/schedule/table.h turns it into a Schedule.
struct ScheduleSpec {
  std::string name = "1f1b";                         // a row of the schedule table
  std::optional<std::int64_t> microbatch_group_size; // interleaved: N, default PP
  bool overlap_moe_expert_parallel_comm = false;     // Megatron's combined 1F1B
  bool delay_wgrad_compute = false;
  std::optional<std::string> file; // an order from a file instead of a generated one; then `name` is only shown
  bool operator==(const ScheduleSpec&) const = default;
};

std::string to_text(const Action& action);
std::string to_text(const Slot& slot);

// The inverse: `2F0`, `(2F1;0B3)`, and torch's `(2F1;0B3)OVERLAP_F_B`. Nothing else, no blanks; nothing on other text.
std::optional<Action> parse_action(std::string_view text);
std::optional<Slot> parse_slot(std::string_view text);

} // namespace tessella
