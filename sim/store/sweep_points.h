// The points of a sweep, in a fixed order: a pure function of the spec, so that shards and resumed runs agree on it.
//   grid             the list slowest, then the axes in file order, the last one fastest
//   random           every axis drawn independently; points that break a constraint are drawn again, at most 1,000
//   times
//                    as many as were asked for
//   latin_hypercube  every axis cut into as many equal strata as there are points, each visited once (McKay, Beckman,
//                    Conover, Technometrics 1979); points that break a constraint are left out
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/domain/sweep.h"

namespace tessella {

// The largest space that is enumerated.
inline constexpr std::int64_t kMaxSweepPoints = 10'000'000;

class SweepPoints {
 public:
  // O(points of the space * constraints). Throws InputError when the space is too large or a sample asks for none.
  explicit SweepPoints(SweepSpec spec);

  std::int64_t size() const { return static_cast<std::int64_t>(kept_.size()); }
  // How many were left out by constraints.
  std::int64_t excluded() const { return excluded_; }
  // Overrides of a point, those of `set` first. O(axes).
  std::vector<std::string> overrides(std::int64_t point) const;

 private:
  std::vector<std::string> grid_point(std::int64_t index) const;
  std::vector<std::string> drawn_point(std::int64_t index) const;
  std::vector<std::string> at(std::int64_t index) const;
  double coordinate(std::int64_t index, std::size_t axis) const;
  bool allowed(const std::vector<std::string>& overrides) const;
  void keep_grid();
  void keep_sample();

  SweepSpec spec_;
  std::vector<std::vector<std::int32_t>> strata_; // [axis][point], latin hypercube only; the list is axis 0
  std::vector<std::int64_t> kept_;
  std::int64_t excluded_ = 0;
};

} // namespace tessella
