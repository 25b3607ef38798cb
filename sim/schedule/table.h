// The table of all schedules we ship: one row each, in the order a reader meets them. A new schedule is one .cpp with a
// generator, one row here and one golden grid.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/domain/schedule.h"
#include "sim/schedule/generators.h"
#include "sim/schedule/rules.h"

namespace tessella {

struct ScheduleInfo {
  std::string_view name = {};
  std::vector<std::string_view> aliases = {}; // other names users write; matching ignores case, '-' and '_'
  std::string_view description = {};          // one line
  std::string_view constraints = {};          // in words, for `list schedules`
  Schedule (*generate)(const ScheduleShape&) = nullptr;
  bool splits_backward = false; // uses I and W
  bool has_pairs = false;       // overlaps a forward with a backward in one slot
  bool two_directions = false;  // each stage is held by two ranks: weights twice
  bool uses_group_size = false; // reads microbatch_group_size
  bool even_pp = false;
  std::int32_t min_pp = 1;
  std::int32_t min_vpp = 1; // chunks per rank that the partition must give
  std::optional<std::int32_t> max_vpp = 1;
  MicroBatchRule rule = {};
};

std::span<const ScheduleInfo> schedule_table();

// The row a name or alias stands for.
const ScheduleInfo* find_schedule(std::string_view name);

// Why a spec cannot be a schedule: which parameter breaks which rule, and the nearest value that keeps it.
struct IllegalSchedule {
  std::string parameter; // the experiment's key: num_micro_batches, pipeline_model_parallel_size, ...
  std::string rule;      // in words, with both numbers
  std::optional<std::int64_t> nearest;
  bool operator==(const IllegalSchedule&) const = default;
};

// Nothing when make_schedule() may be called. spec.overlap_moe_expert_parallel_comm turns 1f1b and interleaved_1f1b
// into combined_1f1b (and the shadow rows likewise); a group size is ignored, as Megatron does, where the schedule has
// none.
std::optional<IllegalSchedule> check_schedule_spec(const ScheduleSpec& spec, std::int32_t pp, std::int32_t vpp,
                                                   std::int32_t num_micro_batches);

// The order. The spec must be legal (our bug otherwise). O(actions).
Schedule make_schedule(const ScheduleSpec& spec, std::int32_t pp, std::int32_t vpp, std::int32_t num_micro_batches);

} // namespace tessella
