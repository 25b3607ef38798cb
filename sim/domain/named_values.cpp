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

std::vector<TextChange> changed_contents(const NamedTexts& before, const NamedTexts& after) {
  constexpr std::size_t kShown = 12;
  const auto only = [](const NamedTexts& these, const NamedTexts& others) {
    NamedTexts out;
    for (const auto& [file, sha256] : these)
      if (std::none_of(others.begin(), others.end(),
                       [&hash = sha256](const auto& other) { return other.second == hash; }))
        out.emplace_back(file, sha256.substr(0, kShown));
    return out;
  };
  return changes(only(before, after), only(after, before));
}

} // namespace tessella
