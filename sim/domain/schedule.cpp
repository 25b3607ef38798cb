#include "sim/domain/schedule.h"

#include <fmt/format.h>

namespace tessella {

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

} // namespace tessella
