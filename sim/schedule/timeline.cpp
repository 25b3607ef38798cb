#include "sim/schedule/timeline.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessella {
namespace {

char symbol(const Schedule& schedule, const Action& a) {
  if (schedule.is_shadow(a.micro_batch)) return '~';
  if (a.kind == ActionKind::W) return '-';
  return static_cast<char>((a.kind == ActionKind::F ? '0' : 'a') + a.micro_batch.value % 10);
}

// The middle of a column is at (2 * column + 1) / 2 units; everything here is counted in half units.
std::string row(const Schedule& schedule, const RankReplay& replay, const std::vector<Slot>& slots,
                std::int64_t columns, std::int64_t unit) {
  std::string text(static_cast<std::size_t>(columns), '.');
  std::size_t at = 0;
  for (std::int64_t column = 0; column < columns; ++column) {
    const std::int64_t middle = (2 * column + 1) * unit;
    while (at < slots.size() && 2 * replay.end[at] <= middle) ++at;
    if (at == slots.size()) break;
    if (middle < 2 * replay.start[at]) continue;
    const bool second_half = middle - 2 * replay.start[at] >= replay.end[at] - replay.start[at];
    const Slot& slot = slots[at];
    text[static_cast<std::size_t>(column)] = symbol(schedule, slot.second && second_half ? *slot.second : slot.first);
  }
  return text;
}

} // namespace

std::string timeline(const Schedule& schedule, const Replay& replay, std::int64_t columns) {
  const std::int64_t wanted = std::max<std::int64_t>(columns, 1);
  const std::int64_t unit = std::max<std::int64_t>(1, (replay.makespan + wanted - 1) / wanted);
  const std::int64_t used = (replay.makespan + unit - 1) / unit;
  std::string text = fmt::format("{}: {} ranks, {} micro-batches; makespan {}, bubble {:.1f} %, one column = {}\n",
                                 schedule.name, schedule.num_ranks, schedule.num_micro_batches, replay.makespan,
                                 100.0 * replay.bubble_fraction(), unit);
  const std::size_t label = fmt::format("r{}", schedule.num_ranks - 1).size();
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r)
    text += fmt::format("{:<{}} {}\n", fmt::format("r{}", r), label,
                        row(schedule, replay.ranks[r], schedule.ranks[r], used, unit));
  return text;
}

} // namespace tessella
