// How a curve over tokens is sampled: enough knots for four times the balanced load.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/cost/layer_ops.h"

namespace tessella {

// Knots 0, step, ... up to at least 4 * balanced; step = the largest power of two <= balanced / 8 (at least 1), so 33
// to 66 knots. A dip of `cost` is raised to what fewer tokens cost. balanced >= 1.
LoadCurve sample_curve(std::int64_t balanced, const std::function<Duration(std::int64_t)>& cost);

} // namespace tessella
