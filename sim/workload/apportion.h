// Integers that sum exactly to a total, as close as possible to given proportions.
#pragma once

#include <cstdint>
#include <span>

namespace tessella {

// Largest remainder: out[i] is weights[i] * total / sum(weights) rounded down or up, sum(out) == total; ties go to the
// lower index. weights >= 0 with a positive sum, total >= 0. O(n log n).
void apportion(std::int64_t total, std::span<const double> weights, std::span<std::int32_t> out);

} // namespace tessella
