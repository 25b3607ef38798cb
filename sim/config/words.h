// Words that files use for values, both ways.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/config/reader.h"
#include "sim/domain/cluster.h"
#include "sim/domain/profile.h"

namespace tessella {

inline constexpr auto kFabricKinds = std::to_array<Choice<FabricKind>>({
    {"ideal", FabricKind::ideal},
    {"single_node", FabricKind::single_node},
    {"rail_optimized", FabricKind::rail_optimized},
    {"fat_tree", FabricKind::fat_tree},
    {"dragonfly", FabricKind::dragonfly},
});

inline constexpr auto kProvenances = std::to_array<Choice<Provenance>>({
    {"measured", Provenance::measured},
    {"published", Provenance::published},
    {"derived", Provenance::derived},
    {"assumed", Provenance::assumed},
});

// The word of a value; every value of the enumeration has a row.
template <class Table, class E>
std::string_view word(const Table& table, E value) {
  return std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.second == value; })->first;
}

} // namespace tessella
