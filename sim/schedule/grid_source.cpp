#include "sim/schedule/grid_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/schedule/validate.h"

namespace tessella {
namespace {

// The end of a row, where a missing cell would have stood.
CellText row_end(const GridSource& source, std::size_t rank) {
  const auto& line = source.lines[static_cast<std::size_t>(source.row_line[rank] - 1)];
  return {source.row_line[rank], static_cast<int>(line.size()) + 1, 1};
}

CellText text_of(const GridSource& source, SlotRef ref) {
  const auto rank = static_cast<std::size_t>(ref.rank.value);
  const auto slot = static_cast<std::size_t>(ref.slot);
  return slot < source.cells[rank].size() ? source.cells[rank][slot] : row_end(source, rank);
}

} // namespace

SourceSpan GridSource::span(const CellText& cell) const {
  return {file, cell.line, cell.column, cell.length, lines[static_cast<std::size_t>(cell.line - 1)]};
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void count_and_place(Schedule& schedule, const GridSource& source) {
  std::size_t actions = 0;
  for (const auto& slots : schedule.ranks) actions += 2 * slots.size();
  const auto each = [&](auto visit) {
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r)
      for (std::size_t i = 0; i < schedule.ranks[r].size(); ++i) {
        visit(r, i, schedule.ranks[r][i].first);
        if (schedule.ranks[r][i].second) visit(r, i, *schedule.ranks[r][i].second);
      }
  };
  schedule.num_ranks = static_cast<std::int32_t>(schedule.ranks.size());
  schedule.num_stages = schedule.num_micro_batches = 0;
  each([&](std::size_t r, std::size_t i, const Action& a) {
    for (const std::int32_t number : {a.stage.value, a.micro_batch.value})
      if (static_cast<std::size_t>(number) >= actions)
        throw InputError(source.span(source.cells[r][i]),
                         fmt::format("{} counts further than the file has actions", to_text(a)));
    schedule.num_stages = std::max(schedule.num_stages, a.stage.value + 1);
    schedule.num_micro_batches = std::max(schedule.num_micro_batches, a.micro_batch.value + 1);
  });
  schedule.stage_ranks.assign(static_cast<std::size_t>(schedule.num_stages), {});
  each([&](std::size_t r, std::size_t, const Action& a) {
    auto& holders = schedule.stage_ranks[static_cast<std::size_t>(a.stage.value)];
    const PpRank rank{static_cast<std::int32_t>(r)};
    if (holders.empty() || holders.back() != rank) holders.push_back(rank); // ranks come in ascending order
  });
}

void require_sound(const Schedule& schedule, const GridSource& source) {
  const auto problem = validate(schedule);
  if (!problem) return;
  std::vector<Note> notes;
  for (const SlotRef& ref : problem->cycle) {
    const Slot& slot = schedule.ranks[static_cast<std::size_t>(ref.rank.value)][static_cast<std::size_t>(ref.slot)];
    if (ref != problem->where)
      notes.push_back({source.span(text_of(source, ref)), fmt::format("{} is part of the circle", to_text(slot))});
  }
  const SourceSpan where = problem->where ? source.span(text_of(source, *problem->where)) : source.whole_file();
  throw InputError(where, problem->message, std::move(notes));
}

} // namespace tessella
