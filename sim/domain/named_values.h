// A result as named texts and numbers, so that two of them can be laid side by side whatever they hold.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessella {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;
using NamedNumbers = std::vector<std::pair<std::string, double>>;

// What is called `name`; nothing when there is none. O(values).
std::optional<std::string> find_text(const NamedTexts& values, const std::string& name);
std::optional<double> find_number(const NamedNumbers& values, const std::string& name);

struct TextChange {
  std::string name;
  std::string before; // "(absent)" when there is none
  std::string after;
  bool operator==(const TextChange&) const = default;
};

// Names whose text differs, in the order of `before`, then those that only `after` has. O(before * after).
std::vector<TextChange> changes(const NamedTexts& before, const NamedTexts& after);

// For files by their SHA-256: what differs in content, by the first digits of the hash. The same content under another
// name is no change, so that a result may have been made in another folder.
std::vector<TextChange> changed_contents(const NamedTexts& before, const NamedTexts& after);

} // namespace tessella
