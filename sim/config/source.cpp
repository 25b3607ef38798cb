#include "sim/config/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "sim/config/message.h"

namespace tessella {
namespace {

// A longer line would fill the screen; the position alone says enough.
constexpr std::size_t kMaxShownLine = 200;

void check_characters(const Source& source) {
  const std::string& text = source.text();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) throw InputError(source.span(at, 0), "not UTF-8 text; is this a binary file?");
    const auto c = static_cast<unsigned char>(text[at]);
    const bool line_end = c == '\n' || (c == '\r' && at + 1 < text.size() && text[at + 1] == '\n');
    if ((c < 0x20 || c == 0x7f) && c != '\t' && !line_end)
      throw InputError(source.span(at, 0), fmt::format("control character 0x{:02x}; is this a binary file?", c));
    at += length;
  }
}

std::string too_large(std::uintmax_t bytes, std::int64_t max_bytes) {
  return fmt::format("has {} bytes; the limit is {}", bytes, max_bytes);
}

} // namespace

Source::Source(std::string name, std::string text, bool has_lines)
    : name_(std::move(name)), text_(std::move(text)), has_lines_(has_lines), line_starts_{0} {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text_.starts_with(kByteOrderMark)) text_.erase(0, kByteOrderMark.size());
  for (std::size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
}

Source Source::file(std::string name, std::string text) {
  return {std::move(name), std::move(text), true};
}

Source Source::flag(std::string name, std::string text) {
  return {std::move(name), std::move(text), false};
}

SourceSpan Source::span(std::size_t offset, std::size_t length) const {
  if (!has_lines_) return {name_, 0, 0, 0, {}};
  offset = std::min(offset, text_.size());
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const std::size_t begin = *std::prev(after);
  std::size_t end = std::min(text_.find('\n', begin), text_.size());
  if (end > begin && text_[end - 1] == '\r') --end;
  offset = std::min(offset, end);

  const auto characters = [&](std::size_t from, std::size_t to) {
    return static_cast<int>(std::count_if(text_.begin() + static_cast<std::ptrdiff_t>(from),
                                          text_.begin() + static_cast<std::ptrdiff_t>(to),
                                          [](char c) { return !is_utf8_continuation(c); }));
  };
  SourceSpan span{name_, static_cast<int>(after - line_starts_.begin()), characters(begin, offset) + 1, 0, {}};
  if (end - begin > kMaxShownLine) return span;
  span.length = characters(offset, std::min(offset + length, end));
  span.line_text = text_.substr(begin, end - begin);
  return span;
}

std::string read_file(const std::filesystem::path& path, std::int64_t max_bytes) {
  const std::string shown = display_path(path);
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw InputError(shown, "no such file");
  if (std::filesystem::is_directory(status)) throw InputError(shown, "is a directory, not a file");
  if (!std::filesystem::is_regular_file(status)) throw InputError(shown, "is not a regular file");
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > static_cast<std::uintmax_t>(max_bytes)) throw InputError(shown, too_large(size, max_bytes));
  std::ifstream in(path, std::ios::binary);
  std::string text(error ? 0 : static_cast<std::size_t>(size), '\0');
  if (error || !in.read(text.data(), static_cast<std::streamsize>(text.size())))
    throw InputError(shown, "cannot be read");
  return text;
}

std::string display_path(const std::filesystem::path& path) {
  std::error_code error;
  const auto here = std::filesystem::current_path(error);
  const auto relative = std::filesystem::absolute(path, error).lexically_normal().lexically_relative(here);
  const bool below = !error && !relative.empty() && *relative.begin() != "..";
  return below ? relative.string() : path.lexically_normal().string();
}

void check_text(const Source& source) {
  const std::string& text = source.text();
  if (text.size() > static_cast<std::size_t>(kMaxFileBytes))
    throw InputError(source.name(), too_large(text.size(), kMaxFileBytes));
  check_characters(source);
  for (std::size_t begin = 0; begin < text.size(); begin = std::min(text.find('\n', begin), text.size() - 1) + 1) {
    if (text[begin] == '%') throw InputError(source.span(begin, 1), "YAML directives (%...) are not supported");
    const std::size_t first = text.find_first_not_of(' ', begin);
    if (first != std::string::npos && text[first] == '\t')
      throw InputError(source.span(first, 1), "tab in the indentation; YAML indents with spaces");
  }
}

} // namespace tessella
