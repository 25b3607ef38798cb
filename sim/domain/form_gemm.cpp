// GEMM and grouped GEMM: tiles in waves over the SMs, under a bandwidth roof. The kernel library picks the best of a
// few tile shapes, and so do we.
#include <algorithm>
#include <array>
#include <limits>

#include "sim/domain/kernel_forms.h"

namespace tessella {
namespace {

struct Tile {
  std::int64_t m;
  std::int64_t n;
};
// The shapes that Hopper and Ampere libraries ship; a cluster of two CTAs shares operands as one wider tile would.
constexpr std::array<Tile, 7> kTiles = {
    {{128, 256}, {256, 128}, {128, 128}, {64, 256}, {64, 128}, {128, 64}, {64, 64}}};

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
};

GemmParams read(const ProfileEntry& e) {
  return {required_param(e, "peak"), required_param(e, "launch"), required_param(e, "hbm"),
          required_param(e, "sms"),  required_param(e, "k_half"), required_param(e, "tile_half")};
}

// Seconds one SM needs for one tile of depth k.
double tile_seconds(const GemmParams& p, Tile t, std::int64_t k) {
  const double tm = static_cast<double>(t.m);
  const double tn = static_cast<double>(t.n);
  const double reuse = tm * tn / (tm + tn);
  const double rate = p.peak / p.sms * reuse / (reuse + p.tile_half);
  return 2.0 * tm * tn * (static_cast<double>(k) + p.k_half) / rate;
}

// The best tile shape for `tiles_of(tile)` tiles of depth k on `sms` SMs.
template <class TilesOf>
double compute_seconds(const GemmParams& p, std::int64_t k, std::int64_t sms, TilesOf tiles_of) {
  const std::int64_t available = sms > 0 ? sms : static_cast<std::int64_t>(p.sms);
  double best = std::numeric_limits<double>::infinity();
  for (const Tile t : kTiles) {
    const std::int64_t waves = ceil_div(tiles_of(t), available);
    best = std::min(best, static_cast<double>(waves) * tile_seconds(p, t, k));
  }
  return best;
}

} // namespace

double gemm_seconds(const ProfileEntry& entry, const GemmShape& shape, std::int64_t sms) {
  if (shape.m <= 0 || shape.n <= 0 || shape.k <= 0) return 0.0;
  const GemmParams p = read(entry);
  const double m = static_cast<double>(shape.m);
  const double n = static_cast<double>(shape.n);
  const double k = static_cast<double>(shape.k);
  const double compute =
      compute_seconds(p, shape.k, sms, [&](Tile t) { return ceil_div(shape.m, t.m) * ceil_div(shape.n, t.n); });
  const double bytes = shape.in_bytes * (m * k + k * n) + shape.out_bytes * m * n;
  return p.launch + std::max(compute, bytes / p.hbm);
}

double grouped_gemm_seconds(const ProfileEntry& entry, std::span<const std::int64_t> tokens, const GemmShape& shape,
                            std::int64_t sms) {
  std::int64_t rows = 0;
  std::int64_t active = 0;
  for (const std::int64_t t : tokens) {
    rows += t;
    if (t > 0) ++active;
  }
  if (rows == 0 || shape.n <= 0 || shape.k <= 0) return 0.0;
  const GemmParams p = read(entry);
  const double compute = compute_seconds(p, shape.k, sms, [&](Tile t) {
    std::int64_t row_tiles = 0;
    for (const std::int64_t e : tokens) row_tiles += ceil_div(e, t.m);
    return row_tiles * ceil_div(shape.n, t.n);
  });
  const double n = static_cast<double>(shape.n);
  const double k = static_cast<double>(shape.k);
  const double bytes = shape.in_bytes * (static_cast<double>(rows) * k + static_cast<double>(active) * k * n) +
                       shape.out_bytes * static_cast<double>(rows) * n;
  return p.launch + std::max(compute, bytes / p.hbm);
}

} // namespace tessella
