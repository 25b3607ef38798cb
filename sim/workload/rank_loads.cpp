// The hot path: one deviate per rank, exp2, scale, round, and a remainder of a few rows to place. Plain loops over
// contiguous arrays, so that the compiler vectorises what it can; no libm, so that results do not depend on it.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "sim/base/check.h"
#include "sim/workload/loads.h"
#include "sim/workload/normal_table.h"

namespace tessella {
namespace {

// 2^x for |x| <= 126: integer part into the exponent, 2^f on [-1/2, 1/2] by the exponential series to f^5
// (relative error < 3e-6).
inline float exp2_series(float x) {
  constexpr float to_integer = 12582912.0F; // 1.5 * 2^23: adding it rounds to an integer in the low mantissa bits
  const float shifted = x + to_integer;
  const float f = x - (shifted - to_integer);
  const float series =
      1.0F + f * (0.69314718F + f * (0.24022651F + f * (0.05550411F + f * (0.00961813F + f * 0.00133336F))));
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(shifted) << 23;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(series) + exponent);
}

// Four partial sums: a fixed order that still keeps the adders busy.
float sum_of(std::span<const float> values) {
  std::array<float, 4> part{};
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4)
    for (std::size_t k = 0; k < 4; ++k) part[k] += values[i + k];
  for (; i < values.size(); ++i) part[0] += values[i];
  return (part[0] + part[1]) + (part[2] + part[3]);
}

constexpr std::size_t kBlock = 64;
constexpr float kLeast = -120.0F; // log2; so rare an expert receives nothing

// Unscaled loads of up to kBlock ranks into `out`, as the bits of floats until the scale is known; returns their sum.
// Two deviates per random word, words counted by rank.
template <class Term>
float draw_block(const Stream& stream, std::size_t begin, std::span<const Term> terms, std::span<std::int32_t> out) {
  const NormalTable& normal = normal_table();
  std::array<float, kBlock> x{};
  for (std::size_t i = 0; i < terms.size(); i += 2) {
    const std::uint64_t word = stream.word((begin + i) / 2);
    x[i] = normal(static_cast<std::uint32_t>(word));
    x[i + 1] = normal(static_cast<std::uint32_t>(word >> 32));
  }
  for (std::size_t i = 0; i < terms.size(); ++i)
    x[i] = exp2_series(std::max(terms[i].mean + terms[i].sigma * x[i], kLeast));
  for (std::size_t i = 0; i < terms.size(); ++i) out[i] = std::bit_cast<std::int32_t>(x[i]);
  return sum_of(std::span(x).first(terms.size()));
}

// Rounding leaves the sum a few rows off: the difference goes one by one to ranks from a random start, so that no rank
// is favoured. |difference| is about sqrt(ranks / 12).
void settle(std::span<std::int32_t> out, std::int64_t difference, std::uint64_t random) {
  const auto ranks = static_cast<std::int64_t>(out.size());
  if (const auto each = static_cast<std::int32_t>(difference / ranks); each > 0) {
    for (std::int32_t& o : out) o += each;
    difference -= each * ranks;
  }
  const std::int32_t unit = difference > 0 ? 1 : -1;
  for (auto r = static_cast<std::size_t>(random % out.size()); difference != 0; r = r + 1 == out.size() ? 0 : r + 1) {
    if (out[r] + unit < 0) continue;
    out[r] += unit;
    difference -= unit;
  }
}

// Rows of each of these, summing to `rows`.
template <class Term>
void draw_rows(const Stream& stream, std::span<const Term> terms, std::int64_t rows, std::span<std::int32_t> out) {
  float sum = 0.0F;
  for (std::size_t begin = 0; begin < out.size(); begin += kBlock) {
    const std::size_t n = std::min(kBlock, out.size() - begin);
    sum += draw_block(stream, begin, terms.subspan(begin, n), out.subspan(begin, n));
  }
  const float scale = static_cast<float>(rows) / sum;
  std::int32_t placed = 0;
  for (std::int32_t& o : out) {
    o = static_cast<std::int32_t>(std::bit_cast<float>(o) * scale + 0.5F);
    placed += o;
  }
  settle(out, rows - placed, stream.word(out.size()));
}

} // namespace

RoutedRows StepRouting::rank_loads(std::int64_t layer, std::int64_t micro_batch, std::int64_t replica,
                                   std::span<std::int32_t> out) const {
  TSL_CHECK_OP(static_cast<std::int64_t>(out.size()), ==, shape_.ep);
  TSL_CHECK(layer >= 0 && layer < shape_.layers);
  const auto at = static_cast<std::size_t>(layer);
  const std::size_t ranks = out.size();
  if (!drawn_) {
    std::copy_n(rank_rows_.begin() + static_cast<std::ptrdiff_t>(at * ranks), ranks, out.begin());
    return {shape_.rows(), dropped_rows_[at]};
  }
  const Stream stream = draw_stream(noise_, layer, micro_batch, replica);
  if (capacity_) {
    const auto experts = static_cast<std::size_t>(shape_.num_experts);
    std::vector<std::int32_t> rows(experts);
    draw_rows(stream.substream(1), std::span(expert_terms_).subspan(at * experts, experts), shape_.rows(), rows);
    return fill_to_capacity(at, rows, out);
  }
  draw_rows(stream, std::span(rank_terms_).subspan(at * ranks, ranks), shape_.rows(), out);
  return {shape_.rows(), 0};
}

RoutedRows StepRouting::fill_to_capacity(std::size_t layer, std::span<std::int32_t> rows,
                                         std::span<std::int32_t> out) const {
  const auto capacity = static_cast<std::int32_t>(*capacity_);
  RoutedRows count{shape_.rows(), 0};
  for (std::int32_t& r : rows) {
    count.dropped += std::max(0, r - capacity);
    r = padded_ ? capacity : std::min(r, capacity);
  }
  // Replicas of an expert share what it accepts as evenly as whole rows can.
  std::vector<std::int32_t> waiting(rows.size(), 0);
  for (std::size_t slot = 0; slot < slots(layer); ++slot) ++waiting[expert_in(layer, slot)];
  const std::size_t per_rank = slots(layer) / out.size();
  std::fill(out.begin(), out.end(), 0);
  for (std::size_t slot = 0; slot < slots(layer); ++slot) {
    const std::size_t e = expert_in(layer, slot);
    const std::int32_t part = (rows[e] + waiting[e] - 1) / waiting[e];
    rows[e] -= part;
    --waiting[e];
    out[slot / per_rank] += part;
  }
  return count;
}

} // namespace tessella
