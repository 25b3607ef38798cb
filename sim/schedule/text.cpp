#include "sim/schedule/text.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <span>

#include "sim/base/nearest.h"
#include "sim/schedule/grid_source.h"

namespace tessella {
namespace {

struct Word {
  std::string_view text;
  CellText where;
};

std::vector<Word> words_of(std::string_view line, int number) {
  std::vector<Word> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back({line.substr(at, end - at), {number, static_cast<int>(at) + 1, static_cast<int>(end - at)}});
    at = end;
  }
  return words;
}

struct Header {
  std::string name;
  std::optional<std::int32_t> ranks, stages, micro_batches, shadow;
};

Header parse_header(const std::vector<Word>& words, const GridSource& source) {
  if (words.size() < 2 || words[0].text != "schedule")
    throw InputError(source.span(words[0].where),
                     "a grid starts with: schedule <name> ranks=<n> stages=<n> micro_batches=<n>");
  Header header{std::string(words[1].text), {}, {}, {}, {}};
  for (const Word& word : std::span(words).subspan(2)) {
    const std::size_t equals = std::min(word.text.find('='), word.text.size());
    const std::string_view key = word.text.substr(0, equals);
    const std::string_view digits = word.text.substr(std::min(equals + 1, word.text.size()));
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 0)
      throw InputError(source.span(word.where), fmt::format("'{}' is not <key>=<number>", word.text));
    if (key == "ranks")
      header.ranks = value;
    else if (key == "stages")
      header.stages = value;
    else if (key == "micro_batches")
      header.micro_batches = value;
    else if (key == "shadow")
      header.shadow = value;
    else
      throw InputError(
          source.span(word.where),
          fmt::format("unknown key '{}'{}", key,
                      did_you_mean(key, std::vector<std::string>{"ranks", "stages", "micro_batches", "shadow"})));
  }
  return header;
}

void parse_row(const std::vector<Word>& words, Schedule& schedule, GridSource& source) {
  const std::string label = fmt::format("r{}:", schedule.ranks.size());
  if (words[0].text != label)
    throw InputError(source.span(words[0].where), fmt::format("expected '{}' here, got '{}'", label, words[0].text));
  std::vector<Slot> slots;
  std::vector<CellText> cells;
  for (const Word& word : std::span(words).subspan(1)) {
    const auto slot = parse_slot(word.text);
    if (!slot)
      throw InputError(source.span(word.where),
                       fmt::format("'{}' is no action: expected <stage><F|B|I|W><micro-batch> or a pair of them, "
                                   "(<action>;<action>)",
                                   word.text));
    slots.push_back(*slot);
    cells.push_back(word.where);
  }
  schedule.ranks.push_back(std::move(slots));
  source.cells.push_back(std::move(cells));
  source.row_line.push_back(words[0].where.line);
}

void require_counts(const Header& header, const Schedule& schedule, const SourceSpan& where) {
  const auto require = [&](const char* what, const std::optional<std::int32_t>& said, std::int32_t found) {
    if (said && *said != found)
      throw InputError(where, fmt::format("the first line says {}={}, the rows have {}", what, *said, found));
  };
  require("ranks", header.ranks, schedule.num_ranks);
  require("stages", header.stages, schedule.num_stages);
  require("micro_batches", header.micro_batches, schedule.num_micro_batches);
}

} // namespace

std::string to_grid(const Schedule& schedule) {
  std::string text = fmt::format("schedule {} ranks={} stages={} micro_batches={}", schedule.name, schedule.num_ranks,
                                 schedule.num_stages, schedule.num_micro_batches);
  if (schedule.num_shadow_micro_batches > 0) text += fmt::format(" shadow={}", schedule.num_shadow_micro_batches);
  text += '\n';
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
    text += fmt::format("r{}:", r);
    for (const Slot& slot : schedule.ranks[r]) text += ' ' + to_text(slot);
    text += '\n';
  }
  return text;
}

Schedule parse_grid(std::string_view text, const std::string& file) {
  GridSource source{file, split_lines(text), {}, {}};
  Schedule schedule;
  std::optional<Header> header;
  SourceSpan header_at = source.whole_file();
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    const auto words = words_of(source.lines[i], static_cast<int>(i) + 1);
    if (words.empty() || words[0].text.starts_with('#')) continue;
    if (header) {
      parse_row(words, schedule, source);
    } else {
      header = parse_header(words, source);
      header_at = source.span(words[1].where);
    }
  }
  if (!header || schedule.ranks.empty()) throw InputError(source.whole_file(), "no schedule here");
  schedule.name = header->name;
  schedule.num_shadow_micro_batches = header->shadow.value_or(0);
  count_and_place(schedule, source);
  require_counts(*header, schedule, header_at);
  require_sound(schedule, source);
  return schedule;
}

} // namespace tessella
