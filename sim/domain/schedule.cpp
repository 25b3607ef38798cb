#include "sim/domain/schedule.h"

#include <fmt/format.h>

#include <charconv>

namespace tessella {
namespace {

// Takes the digits off the front of `text`.
std::optional<std::int32_t> take_number(std::string_view& text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<ActionKind> kind_of(char letter) {
  switch (letter) {
  case 'F':
    return ActionKind::F;
  case 'B':
    return ActionKind::B;
  case 'I':
    return ActionKind::I;
  case 'W':
    return ActionKind::W;
  default:
    return std::nullopt;
  }
}

} // namespace

char letter(ActionKind kind) {
  constexpr char letters[] = {'F', 'B', 'I', 'W'};
  return letters[static_cast<std::size_t>(kind)];
}

std::string to_text(const Action& action) {
  return fmt::format("{}{}{}", action.stage.value, letter(action.kind), action.micro_batch.value);
}

std::string to_text(const Slot& slot) {
  if (!slot.second) return to_text(slot.first);
  return fmt::format("({};{})", to_text(slot.first), to_text(*slot.second));
}

std::optional<Action> parse_action(std::string_view text) {
  const auto stage = take_number(text);
  if (!stage || text.empty()) return std::nullopt;
  const auto kind = kind_of(text.front());
  text.remove_prefix(1);
  const auto micro_batch = take_number(text);
  if (!kind || !micro_batch || !text.empty()) return std::nullopt;
  return Action{Stage{*stage}, *kind, MicroBatch{*micro_batch}};
}

std::optional<Slot> parse_slot(std::string_view text) {
  if (text.empty() || text.front() != '(') {
    const auto single = parse_action(text);
    return single ? std::optional(Slot{*single, std::nullopt}) : std::nullopt;
  }
  constexpr std::string_view suffix = "OVERLAP_F_B";
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  const std::size_t middle = text.find(';');
  if (middle == std::string_view::npos || text.back() != ')') return std::nullopt;
  const auto first = parse_action(text.substr(1, middle - 1));
  const auto second = parse_action(text.substr(middle + 1, text.size() - middle - 2));
  if (!first || !second) return std::nullopt;
  return Slot{*first, *second};
}

} // namespace tessella
