#include "sim/schedule/build.h"

#include <algorithm>

namespace tessella {
namespace {

std::vector<PpRank> holders(std::int32_t stage, std::int32_t pp, Placement placement) {
  const PpRank mirrored{2 * pp - 1 - stage};
  switch (placement) {
  case Placement::loop:
    return {PpRank{stage % pp}};
  case Placement::v:
    return {stage < pp ? PpRank{stage} : mirrored};
  case Placement::two_directions:
    break;
  }
  const PpRank a{stage};
  const PpRank b{pp - 1 - stage};
  return {std::min(a, b), std::max(a, b)};
}

} // namespace

Schedule empty_schedule(const char* name, const ScheduleShape& shape, Placement placement) {
  Schedule schedule;
  schedule.name = name;
  schedule.num_ranks = shape.pp;
  schedule.num_stages = placement == Placement::two_directions ? shape.pp : shape.pp * shape.vpp;
  schedule.num_micro_batches = shape.num_micro_batches;
  schedule.ranks.resize(static_cast<std::size_t>(shape.pp));
  schedule.stage_ranks.reserve(static_cast<std::size_t>(schedule.num_stages));
  for (std::int32_t s = 0; s < schedule.num_stages; ++s)
    schedule.stage_ranks.push_back(holders(s, shape.pp, placement));
  return schedule;
}

} // namespace tessella
