// "Did you mean ...?": the candidate closest to what was typed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessella {

// Optimal string alignment distance (insert, delete, replace, swap of neighbours), case-insensitive.
// O(|a| |b|) time.
int edit_distance(std::string_view a, std::string_view b);

// The nearest candidate, or nothing when even the best is further than a third of the longer word (at least 2).
// Ties go to the earlier candidate.
std::optional<std::string> nearest(std::string_view typed, std::span<const std::string> candidates);

// "; did you mean 'x'?" or "".
std::string did_you_mean(std::string_view typed, std::span<const std::string> candidates);

} // namespace tessella
