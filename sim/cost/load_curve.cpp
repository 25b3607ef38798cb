#include "sim/cost/load_curve.h"

#include <algorithm>
#include <bit>

namespace tessella {

Duration LoadCurve::at(std::int64_t tokens) const {
  TSL_CHECK_OP(tokens, >=, 0);
  TSL_CHECK_OP(knots.size(), >=, 2U);
  const std::int64_t last = static_cast<std::int64_t>(knots.size()) - 1;
  const std::int64_t i = tokens / step;
  const auto knot = [this](std::int64_t k) { return knots[static_cast<std::size_t>(k)].ps; };
  // In double: the product of a duration and a token count may exceed 2^63.
  if (i < last) {
    const double rise = static_cast<double>(knot(i + 1) - knot(i));
    const double part = static_cast<double>(tokens - i * step) / static_cast<double>(step);
    return {knot(i) + std::llround(rise * part)};
  }
  const std::int64_t half = last / 2;
  const double slope = static_cast<double>(knot(last) - knot(half)) / static_cast<double>((last - half) * step);
  return {knot(last) + std::llround(slope * static_cast<double>(tokens - last * step))};
}

LoadCurve sample_curve(std::int64_t balanced, const std::function<Duration(std::int64_t)>& cost) {
  TSL_CHECK_OP(balanced, >=, 1);
  constexpr std::int64_t kKnotsPerBalanced = 8;
  constexpr std::int64_t kCovered = 4;
  LoadCurve curve;
  curve.step = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, balanced / kKnotsPerBalanced))));
  Duration highest{0};
  for (std::int64_t tokens = 0; tokens < kCovered * balanced + curve.step; tokens += curve.step) {
    highest = max(highest, cost(tokens));
    curve.knots.push_back(highest);
  }
  return curve;
}

} // namespace tessella
