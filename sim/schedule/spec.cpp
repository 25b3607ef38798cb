#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.h"
#include "sim/base/nearest.h"
#include "sim/schedule/table.h"

namespace tessella {
namespace {

// The row that runs: 1f1b with several chunks is interleaved, as in Megatron, then overlap_moe_expert_parallel_comm has
// its say.
const ScheduleInfo* row_of(const ScheduleSpec& spec, std::int32_t vpp) {
  const ScheduleInfo* row = find_schedule(spec.name);
  if (row != nullptr && row->name == "1f1b" && vpp > 1) row = find_schedule("interleaved_1f1b");
  if (row == nullptr || !spec.overlap_moe_expert_parallel_comm) return row;
  if (row->name == "1f1b" || row->name == "interleaved_1f1b") return find_schedule("combined_1f1b");
  if (row->name == "interleaved_1f1b_shadow") return find_schedule("combined_1f1b_shadow");
  return row;
}

ScheduleShape shape_of(const ScheduleSpec& spec, std::int32_t pp, std::int32_t vpp, std::int32_t m) {
  return {pp, vpp, m, static_cast<std::int32_t>(spec.microbatch_group_size.value_or(pp))};
}

IllegalSchedule unknown_name(const std::string& name) {
  std::vector<std::string> names;
  for (const ScheduleInfo& row : schedule_table()) {
    names.emplace_back(row.name);
    names.insert(names.end(), row.aliases.begin(), row.aliases.end());
  }
  return {"name", fmt::format("unknown schedule '{}'{}", name, did_you_mean(name, names)), std::nullopt};
}

std::optional<IllegalSchedule> check_pp(const ScheduleInfo& row, std::int32_t pp) {
  constexpr auto key = "pipeline_model_parallel_size";
  if (pp < row.min_pp)
    return IllegalSchedule{key, fmt::format("{} needs {} >= {}, got {}", row.name, key, row.min_pp, pp), row.min_pp};
  if (row.even_pp && pp % 2 != 0)
    return IllegalSchedule{key, fmt::format("{} needs an even {}, got {}", row.name, key, pp), pp + 1};
  return std::nullopt;
}

std::optional<IllegalSchedule> check_vpp(const ScheduleInfo& row, std::int32_t vpp) {
  constexpr auto key = "num_virtual_stages_per_pipeline_rank";
  if (vpp >= row.min_vpp && (!row.max_vpp || vpp <= *row.max_vpp)) return std::nullopt;
  const std::int32_t nearest = vpp < row.min_vpp ? row.min_vpp : *row.max_vpp;
  std::string other;
  if (row.name == "1f1b") other = "; several chunks per rank are interleaved_1f1b";
  if (row.name == "gpipe") other = "; several chunks per rank are looped_bfs";
  if (row.name == "interleaved_1f1b") other = "; one chunk per rank is 1f1b";
  return IllegalSchedule{key,
                         fmt::format("{} needs {} {} {}, got {}{}", row.name, key,
                                     row.max_vpp == row.min_vpp ? "=" : ">=", nearest, vpp, other),
                         nearest};
}

std::optional<IllegalSchedule> check_group_size(const ScheduleInfo& row, const ScheduleSpec& spec, std::int32_t pp) {
  if (!row.uses_group_size || spec.microbatch_group_size.value_or(pp) >= pp) return std::nullopt;
  return IllegalSchedule{"microbatch_group_size_per_vp_stage",
                         fmt::format("microbatch_group_size_per_vp_stage is {}; it must be at least "
                                     "pipeline_model_parallel_size = {}",
                                     *spec.microbatch_group_size, pp),
                         pp};
}

// An order is held in memory as a whole; beyond this it would be gigabytes.
constexpr std::int64_t kMaxActions = 100'000'000;

std::optional<IllegalSchedule> check_size(const ScheduleInfo& row, const ScheduleSpec& spec, std::int32_t pp,
                                          std::int32_t vpp, std::int32_t m) {
  const std::int64_t largest = kMaxActions / 3 / (std::int64_t{pp} * vpp);
  if (row.uses_group_size && spec.microbatch_group_size.value_or(pp) > largest)
    return IllegalSchedule{"microbatch_group_size_per_vp_stage",
                           fmt::format("microbatch_group_size_per_vp_stage is {}; at most {} for this many stages",
                                       *spec.microbatch_group_size, largest),
                           std::nullopt};
  if (m <= largest) return std::nullopt;
  return IllegalSchedule{"num_micro_batches",
                         fmt::format("num_micro_batches is {}; at most {} for this many stages", m, largest),
                         std::nullopt};
}

// Closest first, the larger of two equally close ones. Every rule has a legal value within 2p + N of any m >= 0.
std::optional<std::int64_t> nearest_legal(const ScheduleInfo& row, ScheduleShape shape) {
  const std::int32_t m = std::max(shape.num_micro_batches, 0);
  for (std::int32_t step = 0; step <= 2 * shape.pp + shape.group_size; ++step) {
    for (const std::int32_t candidate : {m + step, m - step}) {
      shape.num_micro_batches = candidate;
      if (candidate >= 1 && row.rule.accepts(shape)) return candidate;
    }
  }
  return std::nullopt;
}

} // namespace

std::optional<IllegalSchedule> check_schedule_spec(const ScheduleSpec& spec, std::int32_t pp, std::int32_t vpp,
                                                   std::int32_t num_micro_batches) {
  if (spec.file)
    return IllegalSchedule{"file", fmt::format("the order of {} cannot be generated for other sizes", *spec.file),
                           std::nullopt};
  const ScheduleInfo* row = row_of(spec, vpp);
  if (row == nullptr) return unknown_name(spec.name);
  if (spec.overlap_moe_expert_parallel_comm && !row->has_pairs)
    return IllegalSchedule{"overlap_moe_expert_parallel_comm",
                           fmt::format("overlap_moe_expert_parallel_comm pairs forwards and backwards of 1f1b and "
                                       "interleaved_1f1b; {} has no such pairs",
                                       row->name),
                           std::nullopt};
  if (auto illegal = check_pp(*row, pp)) return illegal;
  if (auto illegal = check_vpp(*row, vpp)) return illegal;
  if (auto illegal = check_group_size(*row, spec, pp)) return illegal;
  if (auto illegal = check_size(*row, spec, pp, vpp, num_micro_batches)) return illegal;
  const ScheduleShape shape = shape_of(spec, pp, vpp, num_micro_batches);
  if (num_micro_batches >= 1 && row->rule.accepts(shape)) return std::nullopt;
  return IllegalSchedule{"num_micro_batches", fmt::format("{}: {}", row->name, row->rule.text(shape)),
                         nearest_legal(*row, shape)};
}

Schedule make_schedule(const ScheduleSpec& spec, std::int32_t pp, std::int32_t vpp, std::int32_t num_micro_batches) {
  const auto illegal = check_schedule_spec(spec, pp, vpp, num_micro_batches);
  TSL_CHECK_OP((illegal ? illegal->rule : std::string()), ==, std::string());
  return row_of(spec, vpp)->generate(shape_of(spec, pp, vpp, num_micro_batches));
}

} // namespace tessella
