// Standard normal deviates by table, for the hot path of rank_loads: a piecewise linear inverse of the distribution
// function with 2 x 1024 cells of equal probability; the outer 2 x 8 cells (|z| > 2.66, 0.8 % of the draws) use the
// exact inverse of sim/base/rng.h.
// Error: |z - exact| < 6e-4; |mean| < 1e-6 by symmetry, variance and fourth moment within 1e-4 of 1 and 3
// (tests/unit/workload). 32 random bits per deviate: the largest |z| is 6.3.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace tessella {

class NormalTable {
 public:
  NormalTable();

  // The deviate of 32 random bits: 1 sign, 10 cell, 21 position inside the cell.
  float operator()(std::uint32_t bits) const {
    const std::uint32_t cell = (bits >> 21) & (kCells - 1);
    if (cell < kExactCells) [[unlikely]]
      return exact(bits);
    const Cell& c = cells_[cell];
    const float z = c.base + c.slope * static_cast<float>(bits & 0x1fffff);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(z) ^ (bits & 0x80000000U));
  }

 private:
  static constexpr std::uint32_t kCells = 1024;
  static constexpr std::uint32_t kExactCells = 8;
  struct Cell {
    float base;  // |z| at the start of the cell
    float slope; // per unit of position
  };

  static float exact(std::uint32_t bits);

  std::array<Cell, kCells> cells_;
};

// The one table of the program; immutable.
const NormalTable& normal_table();

} // namespace tessella
