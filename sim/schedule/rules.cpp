#include "sim/schedule/rules.h"

#include <fmt/format.h>

#include "sim/schedule/torch_rounds.h"

namespace tessella {
namespace {

bool at_least_one(const ScheduleShape& s) {
  return s.num_micro_batches >= 1;
}

std::string at_least_one_text(const ScheduleShape& s) {
  return fmt::format("num_micro_batches is {}; it must be at least 1", s.num_micro_batches);
}

bool megatron_groups(const ScheduleShape& s) {
  if (s.vpp == 1) return at_least_one(s); // one chunk: the groups make no difference
  const std::int32_t rest = s.num_micro_batches % s.group_size;
  return s.num_micro_batches >= s.group_size && (rest == 0 || rest >= s.pp);
}

std::string megatron_groups_text(const ScheduleShape& s) {
  const std::int32_t m = s.num_micro_batches;
  if (m < 1) return at_least_one_text(s);
  if (m < s.group_size)
    return fmt::format("num_micro_batches is {}; it must be at least microbatch_group_size_per_vp_stage = {}", m,
                       s.group_size);
  return fmt::format("num_micro_batches mod microbatch_group_size_per_vp_stage is {} mod {} = {}; it must be 0 or at "
                     "least pipeline_model_parallel_size = {}",
                     m, s.group_size, m % s.group_size, s.pp);
}

bool torch_groups(const ScheduleShape& s) {
  return at_least_one(s) && s.num_micro_batches % torch_rounds(s) == 0;
}

std::string torch_groups_text(const ScheduleShape& s) {
  const std::int32_t m = s.num_micro_batches;
  if (m < 1) return at_least_one_text(s);
  return fmt::format("num_micro_batches mod rounds is {} mod {} = {}; it must be 0, where rounds = max(1, {} div "
                     "pipeline_model_parallel_size = {})",
                     m, torch_rounds(s), m % torch_rounds(s), m, s.pp);
}

bool multiple_of_pp(const ScheduleShape& s) {
  return at_least_one(s) && s.num_micro_batches % s.pp == 0;
}

std::string multiple_of_pp_text(const ScheduleShape& s) {
  return fmt::format("num_micro_batches is {}; it must be a multiple of pipeline_model_parallel_size = {}",
                     s.num_micro_batches, s.pp);
}

bool twice_pp(const ScheduleShape& s) {
  return s.num_micro_batches >= 2 * s.pp;
}

std::string twice_pp_text(const ScheduleShape& s) {
  return fmt::format("num_micro_batches is {}; it must be at least 2 x pipeline_model_parallel_size = {}",
                     s.num_micro_batches, 2 * s.pp);
}

bool even_and_twice_pp(const ScheduleShape& s) {
  return twice_pp(s) && s.num_micro_batches % 2 == 0;
}

std::string even_and_twice_pp_text(const ScheduleShape& s) {
  return fmt::format("num_micro_batches is {}; it must be even and at least 2 x pipeline_model_parallel_size = {}",
                     s.num_micro_batches, 2 * s.pp);
}

} // namespace

const MicroBatchRule kAnyMicroBatches{at_least_one, at_least_one_text};
const MicroBatchRule kMegatronGroups{megatron_groups, megatron_groups_text};
const MicroBatchRule kTorchRounds{torch_groups, torch_groups_text};
const MicroBatchRule kMultipleOfPp{multiple_of_pp, multiple_of_pp_text};
const MicroBatchRule kTwicePp{twice_pp, twice_pp_text};
const MicroBatchRule kDualPipe{even_and_twice_pp, even_and_twice_pp_text};

} // namespace tessella
