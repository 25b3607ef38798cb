// GEMM and grouped GEMM: tiles in waves over the SMs, under a bandwidth roof. The library picks the best of its tile
// shapes most of the time; `pick` is the share of time it spends as if it had taken its default tile instead.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <vector>

#include "sim/base/check.h"
#include "sim/domain/kernel_forms.h"

namespace tessella {
namespace {

// Tile shapes of Hopper and Ampere libraries: a 256-row tile is a cluster of two 128-row CTAs that share operands.
constexpr std::array<std::int64_t, 3> kTileRows = {64, 128, 256};
constexpr std::array<std::int64_t, 7> kTileColumns = {64, 96, 128, 160, 192, 224, 256};
constexpr std::int64_t kMaxTileArea = 256 * 128; // accumulators that fit into registers
constexpr std::int64_t kDefaultRows = 256;
constexpr std::int64_t kDefaultColumns = 128;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

struct GemmParams {
  double peak;      // FLOP/s of all SMs in the main loop of an ideal tile
  double launch;    // seconds
  double hbm;       // bytes/s
  double sms;       // SMs of the GPU
  double k_half;    // prologue and epilogue of a tile, in elements of k
  double tile_half; // operand reuse m*n/(m+n) at which a tile reaches half the peak
  double pick;      // 0 = always the best tile, 1 = always the default
  double roof;      // exponent of the smooth maximum of compute and memory; 0 = the plain maximum
};

GemmParams read(const ProfileEntry& e) {
  return {required_param(e, "peak"),     required_param(e, "launch"),  required_param(e, "hbm"),
          required_param(e, "sms"),      required_param(e, "k_half"),  required_param(e, "tile_half"),
          e.param("pick").value_or(0.0), e.param("roof").value_or(0.0)};
}

// Seconds one SM needs for one step of k of a tile.
double step_seconds(const GemmParams& p, std::int64_t rows, std::int64_t columns) {
  const double tm = static_cast<double>(rows);
  const double tn = static_cast<double>(columns);
  const double reuse = tm * tn / (tm + tn);
  const double rate = p.peak / p.sms * reuse / (reuse + p.tile_half);
  return 2.0 * tm * tn / rate;
}

// `depth(rows, columns, sms)`: steps of k that the busiest SM runs one after another with tiles of that shape.
template <class Depth>
double compute_seconds(const GemmParams& p, std::int64_t sms, Depth depth) {
  const std::int64_t available = sms > 0 ? sms : static_cast<std::int64_t>(p.sms);
  TSL_CHECK_OP(available, >, 0);
  double best = std::numeric_limits<double>::infinity();
  double by_default = best;
  for (const std::int64_t rows : kTileRows) {
    for (const std::int64_t columns : kTileColumns) {
      if (rows * columns > kMaxTileArea) continue;
      const double t = depth(rows, columns, available) * step_seconds(p, rows, columns);
      best = std::min(best, t);
      if (rows == kDefaultRows && columns == kDefaultColumns) by_default = t;
    }
  }
  return best + p.pick * (by_default - best);
}

double under_roof(const GemmParams& p, double compute, double memory) {
  if (p.roof <= 0.0) return std::max(compute, memory);
  const double larger = std::max(compute, memory);
  return larger * std::pow(1.0 + std::pow(std::min(compute, memory) / larger, p.roof), 1.0 / p.roof);
}

} // namespace

double gemm_seconds(const ProfileEntry& entry, const GemmShape& shape, std::int64_t sms) {
  if (shape.m <= 0 || shape.n <= 0 || shape.k <= 0) return 0.0;
  const GemmParams p = read(entry);
  const double m = static_cast<double>(shape.m);
  const double n = static_cast<double>(shape.n);
  const double k = static_cast<double>(shape.k);
  const double compute = compute_seconds(p, sms, [&](std::int64_t rows, std::int64_t columns, std::int64_t available) {
    const std::int64_t tiles = ceil_div(shape.m, rows) * ceil_div(shape.n, columns);
    return static_cast<double>(ceil_div(tiles, available)) * (k + p.k_half);
  });
  const double bytes = shape.in_bytes * (m * k + k * n) + shape.out_bytes * m * n;
  return p.launch + under_roof(p, compute, bytes / p.hbm);
}

double grouped_gemm_seconds(const ProfileEntry& entry, std::span<const std::int64_t> tokens, const GemmShape& shape,
                            std::int64_t sms) {
  std::int64_t rows_total = 0;
  std::int64_t active = 0;
  std::array<std::int64_t, kTileRows.size()> row_tiles{}; // per tile height, each expert padded
  for (const std::int64_t t : tokens) {
    rows_total += t;
    if (t > 0) ++active;
    for (std::size_t i = 0; i < kTileRows.size(); ++i) row_tiles[i] += ceil_div(t, kTileRows[i]);
  }
  if (rows_total <= 0 || shape.n <= 0 || shape.k <= 0) return 0.0;
  const GemmParams p = read(entry);
  const double r = static_cast<double>(rows_total);
  const double n = static_cast<double>(shape.n);
  const double k = static_cast<double>(shape.k);
  const double compute = compute_seconds(p, sms, [&](std::int64_t rows, std::int64_t columns, std::int64_t available) {
    const std::size_t i = rows == 64 ? 0 : rows == 128 ? 1 : 2;
    const std::int64_t tiles = row_tiles[i] * ceil_div(shape.n, columns);
    return static_cast<double>(ceil_div(tiles, available)) * (k + p.k_half);
  });
  const double bytes = shape.in_bytes * (r * k + static_cast<double>(active) * k * n) + shape.out_bytes * r * n;
  return p.launch + under_roof(p, compute, bytes / p.hbm);
}

double grouped_wgrad_seconds(const ProfileEntry& entry, std::span<const std::int64_t> tokens, const GemmShape& shape,
                             std::int64_t sms) {
  std::vector<std::int64_t> depths; // of active experts, deepest first, as a scheduler that balances would run them
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(depths), [](std::int64_t t) { return t > 0; });
  if (depths.empty() || shape.m <= 0 || shape.n <= 0) return 0.0;
  std::sort(depths.begin(), depths.end(), std::greater<>());
  const GemmParams p = read(entry);
  const double m = static_cast<double>(shape.m);
  const double n = static_cast<double>(shape.n);
  const double compute = compute_seconds(p, sms, [&](std::int64_t rows, std::int64_t columns, std::int64_t available) {
    // A wave lasts as long as its deepest tile, the first of it. Waves start at tiles 0, available, 2 available, ...
    const std::int64_t per_expert = ceil_div(shape.m, rows) * ceil_div(shape.n, columns);
    double steps = 0.0;
    std::int64_t first = 0;
    for (const std::int64_t depth : depths) {
      const std::int64_t starts = ceil_div(first + per_expert, available) - ceil_div(first, available);
      steps += static_cast<double>(starts) * (static_cast<double>(depth) + p.k_half);
      first += per_expert;
    }
    return steps;
  });
  const double depth_total = static_cast<double>(std::accumulate(depths.begin(), depths.end(), std::int64_t{0}));
  const double bytes =
      shape.in_bytes * depth_total * (m + n) + shape.out_bytes * static_cast<double>(depths.size()) * m * n;
  return p.launch + under_roof(p, compute, bytes / p.hbm);
}

} // namespace tessella
