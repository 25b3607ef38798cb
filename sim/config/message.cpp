#include "sim/config/message.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/nearest.h"

namespace tessella {

bool is_utf8_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!is_utf8_continuation(text[at + i])) return 0;
  const unsigned char second = byte(at + 1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool beyond = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
  return overlong || beyond ? 0 : length;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMax = 60;
  std::string out = "'";
  std::size_t shown = 0;
  for (std::size_t at = 0; at < text.size(); ++shown) {
    if (shown == kMax) return out + "...'";
    const std::size_t length = utf8_length(text, at);
    const auto c = static_cast<unsigned char>(text[at]);
    if (length == 0 || c < 0x20 || c == 0x7f)
      out += c == '\n' ? "\\n" : fmt::format("\\x{:02x}", c);
    else
      out += text.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return out + "'";
}

std::optional<std::string> nearest_word(std::string_view typed, std::span<const std::string> words) {
  constexpr std::size_t kMaxTyped = 200;
  return typed.size() > kMaxTyped ? std::nullopt : nearest(typed, words);
}

std::string comma_list(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

} // namespace tessella
