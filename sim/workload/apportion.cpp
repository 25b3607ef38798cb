#include "sim/workload/apportion.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sim/base/check.h"

namespace tessella {

void apportion(std::int64_t total, std::span<const double> weights, std::span<std::int32_t> out) {
  TSL_CHECK_OP(weights.size(), ==, out.size());
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  TSL_CHECK(sum > 0.0);
  std::vector<double> remainder(weights.size());
  std::int64_t left = total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double exact = static_cast<double>(total) * weights[i] / sum;
    const double whole = std::floor(exact);
    remainder[i] = exact - whole;
    out[i] = static_cast<std::int32_t>(whole);
    left -= out[i];
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainder[a] > remainder[b]; });
  // Floating point may leave one row too few or too many beyond the remainders; weightless entries get none of it.
  for (std::size_t i = 0; left != 0; i = (i + 1) % order.size()) {
    const std::size_t at = left > 0 ? order[i] : order[order.size() - 1 - i];
    if (weights[at] == 0.0 || (left < 0 && out[at] == 0)) continue;
    out[at] += left > 0 ? 1 : -1;
    left += left > 0 ? -1 : 1;
  }
}

} // namespace tessella
