#include "sim/schedule/rules.h"

#include <fmt/format.h>

namespace tessella {

bool any_micro_batches(const ScheduleShape& shape) {
  return shape.num_micro_batches >= 1;
}

std::string any_micro_batches_rule(const ScheduleShape& shape) {
  return fmt::format("num_micro_batches is {}; it must be at least 1", shape.num_micro_batches);
}

bool megatron_groups(const ScheduleShape& shape) {
  if (shape.vpp == 1) return any_micro_batches(shape); // one chunk: the groups make no difference
  const std::int32_t rest = shape.num_micro_batches % shape.group_size;
  return shape.num_micro_batches >= shape.group_size && (rest == 0 || rest >= shape.pp);
}

std::string megatron_groups_rule(const ScheduleShape& shape) {
  const std::int32_t m = shape.num_micro_batches;
  if (m < 1) return any_micro_batches_rule(shape);
  if (m < shape.group_size)
    return fmt::format("num_micro_batches is {}; it must be at least microbatch_group_size_per_vp_stage = {}", m,
                       shape.group_size);
  return fmt::format("num_micro_batches mod microbatch_group_size_per_vp_stage is {} mod {} = {}; it must be 0 or at "
                     "least pipeline_model_parallel_size = {}",
                     m, shape.group_size, m % shape.group_size, shape.pp);
}

} // namespace tessella
