#include "sim/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessella {
namespace {

std::string head(const SourceSpan& where, std::string_view severity, std::string_view message) {
  if (where.line == 0) return fmt::format("{}: {}: {}\n", where.file, severity, message);
  return fmt::format("{}:{}:{}: {}: {}\n", where.file, where.line, where.column, severity, message);
}

// A file must not command the terminal: what it would obey instead of showing (C0, delete, C1 in UTF-8) as '?', one for
// each column it took.
std::string shown(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c1) text.erase(i, 1);
    if (c1 || c == 0x7f || (c < 0x20 && c != '\n' && c != '\t')) text[i] = '?';
  }
  return text;
}

// Tabs are kept in the margin so that the caret stays under its column.
std::string excerpt(const SourceSpan& where) {
  if (where.line == 0 || where.length == 0 || where.line_text.empty()) return {};
  std::string margin;
  for (int i = 0; i + 1 < where.column; ++i) {
    const auto at = static_cast<std::size_t>(i);
    margin += at < where.line_text.size() && where.line_text[at] == '\t' ? '\t' : ' ';
  }
  const std::string tail(static_cast<std::size_t>(std::max(0, where.length - 1)), '~');
  return fmt::format("{:>5} | {}\n      | {}^{}\n", where.line, where.line_text, margin, tail);
}

} // namespace

InputError::InputError(SourceSpan where, const std::string& message, std::vector<Note> notes)
    : std::runtime_error(head(where, "error", message)), where_(std::move(where)), message_(message),
      notes_(std::move(notes)) {}

InputError::InputError(const std::string& what, const std::string& message)
    : InputError(SourceSpan{what, 0, 0, 0, {}}, message) {}

InputError InputError::with_note(Note note) const {
  InputError copy = *this;
  copy.notes_.push_back(std::move(note));
  return copy;
}

NotCovered::NotCovered(std::vector<std::string> missing)
    : std::runtime_error(fmt::format("the profile does not cover {} cost(s)", missing.size())),
      missing_(std::move(missing)) {}

std::string format_error(const InputError& error) {
  std::string text = head(error.where(), "error", error.message()) + excerpt(error.where());
  for (const Note& note : error.notes()) {
    if (note.where)
      text += head(*note.where, "note", note.text) + excerpt(*note.where);
    else
      text += fmt::format("note: {}\n", note.text);
  }
  return shown(std::move(text));
}

} // namespace tessella
