// Pieces of text that error messages are made of.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessella {

// In single quotes; what cannot be shown as \xNN, at most 60 characters.
std::string in_quotes(std::string_view text);

// "a, b, c"
std::string comma_list(std::span<const std::string> words);

// nearest() (sim/base/nearest.h) for words of sane length; nothing for others, whose comparison would take forever.
std::optional<std::string> nearest_word(std::string_view typed, std::span<const std::string> words);

// A byte that continues a UTF-8 sequence.
bool is_utf8_continuation(char c);

// Bytes of the UTF-8 sequence at `at`, or 0 when it is not valid (RFC 3629: no overlong forms, no surrogates).
std::size_t utf8_length(std::string_view text, std::size_t at);

} // namespace tessella
