#include "sim/domain/named_values.h"

#include <algorithm>

namespace tessella {
namespace {

template <class T>
std::optional<T> find_value(const std::vector<std::pair<std::string, T>>& values, const std::string& name) {
  const auto at = std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.first == name; });
  if (at == values.end()) return std::nullopt;
  return at->second;
}

} // namespace

std::optional<std::string> find_text(const NamedTexts& values, const std::string& name) {
  return find_value(values, name);
}

std::optional<double> find_number(const NamedNumbers& values, const std::string& name) {
  return find_value(values, name);
}

std::vector<TextChange> changes(const NamedTexts& before, const NamedTexts& after) {
  constexpr const char* kAbsent = "(absent)";
  std::vector<TextChange> out;
  for (const auto& [name, text] : before)
    if (const std::string now = find_text(after, name).value_or(kAbsent); now != text) out.push_back({name, text, now});
  for (const auto& [name, text] : after)
    if (!find_text(before, name)) out.push_back({name, kAbsent, text});
  return out;
}

} // namespace tessella
