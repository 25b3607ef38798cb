#include "sim/domain/sweep.h"

#include <charconv>
#include <cmath>

namespace tessella {
namespace {

bool names_path(const std::string& path, const std::string& name) {
  return path == name ||
         (path.size() > name.size() && path.ends_with(name) && path[path.size() - name.size() - 1] == '.');
}

ExprValue to_value(std::string text) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(number)) return number;
  if (text.size() >= 2 && text.front() == text.back() && (text.front() == '"' || text.front() == '\''))
    text = text.substr(1, text.size() - 2);
  return text;
}

} // namespace

std::string path_of(const std::string& override_text) {
  return override_text.substr(0, override_text.find('='));
}

std::string value_of(const std::string& override_text) {
  const std::size_t equals = override_text.find('=');
  return equals == std::string::npos ? std::string() : override_text.substr(equals + 1);
}

ExprValue lookup_override(const std::vector<std::string>& overrides, const std::string& name) {
  ExprValue found;
  for (const std::string& text : overrides)
    if (names_path(path_of(text), name)) found = to_value(value_of(text));
  return found;
}

} // namespace tessella
