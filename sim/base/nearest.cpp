#include "sim/base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace tessella {
namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

} // namespace

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<int> cost((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> int& { return cost[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = static_cast<int>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replace = at(i - 1, j - 1) + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, replace});
      if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  return at(a.size(), b.size());
}

std::optional<std::string> nearest(std::string_view typed, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  int best_distance = 0;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(typed, candidate);
    if (best && distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  if (!best) return best;
  const int limit = std::max<int>(2, static_cast<int>(std::max(typed.size(), best->size()) / 3));
  if (best_distance > limit) best.reset();
  return best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> candidates) {
  const auto found = nearest(typed, candidates);
  return found ? fmt::format("; did you mean '{}'?", *found) : std::string{};
}

} // namespace tessella
