// The exact generator, expert by expert: noise on every weight, then a multinomial as a chain of binomials.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sim/base/check.h"
#include "sim/workload/apportion.h"
#include "sim/workload/binomial.h"
#include "sim/workload/loads.h"

namespace tessella {

std::span<const double> StepRouting::expert_shares(std::int64_t layer) const {
  TSL_CHECK(layer >= 0 && layer < shape_.layers);
  const auto experts = static_cast<std::size_t>(shape_.num_experts);
  return std::span(shares_).subspan(static_cast<std::size_t>(layer) * experts, experts);
}

void StepRouting::expert_loads(std::int64_t layer, std::int64_t micro_batch, std::int64_t replica,
                               std::span<std::int32_t> out) const {
  TSL_CHECK_OP(static_cast<std::int64_t>(out.size()), ==, shape_.num_experts);
  const std::span<const double> shares = expert_shares(layer);
  if (!drawn_) {
    const auto at = static_cast<std::size_t>(layer);
    const auto ranks = static_cast<std::size_t>(shape_.ep);
    const std::size_t per_rank = slots(at) / ranks;
    const std::vector<double> share = slot_shares(at);
    std::fill(out.begin(), out.end(), 0);
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::int64_t rows = rank_rows_[at * ranks + r];
      std::vector<std::int32_t> got(per_rank, 0);
      if (rows > 0) apportion(rows, std::span(share).subspan(r * per_rank, per_rank), got);
      for (std::size_t i = 0; i < per_rank; ++i) out[expert_in(at, r * per_rank + i)] += got[i];
    }
    return;
  }
  const Stream noise = draw_stream(noise_, layer, micro_batch, replica).substream(0);
  const Stream tokens = draw_stream(tokens_, layer, micro_batch, replica);
  std::vector<double> weight(out.size());
  for (std::size_t e = 0; e < out.size(); ++e) weight[e] = shares[e] * std::exp(noise_sigma_ * noise.normal(e));
  double weight_left = std::accumulate(weight.begin(), weight.end(), 0.0);
  std::int64_t rows_left = shape_.rows();
  for (std::size_t e = 0; e + 1 < out.size(); ++e) {
    const std::int64_t rows = binomial(tokens.substream(e), rows_left, std::min(1.0, weight[e] / weight_left));
    out[e] = static_cast<std::int32_t>(rows);
    rows_left -= rows;
    weight_left -= weight[e];
  }
  out.back() = static_cast<std::int32_t>(rows_left);
}

} // namespace tessella
