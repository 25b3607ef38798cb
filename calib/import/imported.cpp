#include "calib/import/imported.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/base/error.h"

namespace tessella::calib {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool is_number(char c) {
  return (c >= '0' && c <= '9') || c == '.' || c == ',' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

bool to_number(std::string_view text, double& value) {
  std::string plain(text);
  std::erase(plain, ',');
  const auto [stop, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  return error == std::errc{} && stop != plain.data();
}

} // namespace

std::string dropped_text(const std::map<std::string, std::int64_t>& dropped) {
  std::string text;
  for (const auto& [reason, count] : dropped) text += fmt::format("{} not used: {}\n", count, reason);
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    at = end + 1;
  }
  return lines;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    while (at < line.size() && is_blank(line[at])) ++at;
    std::size_t end = at;
    while (end < line.size() && !is_blank(line[end])) ++end;
    if (end > at) words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

bool number_after(std::string_view line, std::string_view label, double& value) {
  std::size_t at = line.find(label);
  if (at == std::string_view::npos) return false;
  at += label.size();
  while (at < line.size() && is_blank(line[at])) ++at;
  std::size_t end = at;
  while (end < line.size() && is_number(line[end])) ++end;
  return end > at && to_number(line.substr(at, end - at), value);
}

bool number_before(std::string_view line, std::string_view unit, double& value) {
  std::size_t end = line.find(unit);
  if (end == std::string_view::npos) return false;
  while (end > 0 && is_blank(line[end - 1])) --end;
  std::size_t at = end;
  while (at > 0 && is_number(line[at - 1])) --at;
  return end > at && to_number(line.substr(at, end - at), value);
}

} // namespace tessella::calib
