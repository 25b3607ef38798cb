#include "sim/store/sweep_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/base/error.h"
#include "sim/base/rng.h"

namespace tessella {
namespace {

// The list is one more axis, in front of the others.
std::size_t choices(const SweepSpec& spec, std::size_t axis) {
  return axis == 0 ? std::max<std::size_t>(1, spec.list.size()) : spec.grid[axis - 1].values.size();
}

std::int64_t space_size(const SweepSpec& spec) {
  std::int64_t size = 1;
  for (std::size_t axis = 0; axis <= spec.grid.size(); ++axis) {
    size *= static_cast<std::int64_t>(choices(spec, axis));
    if (size > kMaxSweepPoints)
      throw InputError("sweep '" + spec.name + "'",
                       fmt::format("more than {} points; sample them (sample: {{method: latin_hypercube, points: N}})",
                                   kMaxSweepPoints));
  }
  return size;
}

// A place in [0, 1) as a value of the range; whole numbers get equal shares.
std::string value_in(const SweepRange& range, double place) {
  const double top = range.integer ? range.max + 1.0 : range.max;
  double value = range.log ? range.min * std::pow(top / range.min, place) : range.min + place * (top - range.min);
  if (range.integer) return fmt::format("{:.0f}", std::min(std::floor(value), range.max));
  return fmt::format("{}", std::min(value, range.max));
}

// Fisher-Yates; draws are words of a counter-based stream.
std::vector<std::int32_t> permutation(std::int64_t n, const Stream& draws) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draws.word(i) % i]);
  return order;
}

} // namespace

SweepPoints::SweepPoints(SweepSpec spec) : spec_(std::move(spec)) {
  if (spec_.sample)
    keep_sample();
  else
    keep_grid();
}

std::vector<std::string> SweepPoints::overrides(std::int64_t point) const {
  return at(kept_[static_cast<std::size_t>(point)]);
}

std::vector<std::string> SweepPoints::at(std::int64_t index) const {
  return spec_.sample ? drawn_point(index) : grid_point(index);
}

std::vector<std::string> SweepPoints::grid_point(std::int64_t index) const {
  std::vector<std::size_t> chosen(spec_.grid.size() + 1);
  auto rest = static_cast<std::size_t>(index);
  for (std::size_t axis = chosen.size(); axis-- > 0;) {
    chosen[axis] = rest % choices(spec_, axis);
    rest /= choices(spec_, axis);
  }
  std::vector<std::string> out = spec_.set;
  if (!spec_.list.empty()) out.insert(out.end(), spec_.list[chosen[0]].begin(), spec_.list[chosen[0]].end());
  for (std::size_t axis = 0; axis < spec_.grid.size(); ++axis)
    out.push_back(spec_.grid[axis].path + "=" + spec_.grid[axis].values[chosen[axis + 1]]);
  return out;
}

double SweepPoints::coordinate(std::int64_t index, std::size_t axis) const {
  const Stream draws(spec_.sample->seed, Purpose::sampling, static_cast<std::uint64_t>(index));
  const double place = draws.uniform(axis);
  if (spec_.sample->method == SampleMethod::random) return place;
  return (strata_[axis][static_cast<std::size_t>(index)] + place) / static_cast<double>(spec_.sample->points);
}

std::vector<std::string> SweepPoints::drawn_point(std::int64_t index) const {
  const auto choice = [&](std::size_t axis) {
    const auto n = static_cast<double>(choices(spec_, axis));
    return static_cast<std::size_t>(std::min(std::floor(coordinate(index, axis) * n), n - 1.0));
  };
  std::vector<std::string> out = spec_.set;
  if (!spec_.list.empty()) out.insert(out.end(), spec_.list[choice(0)].begin(), spec_.list[choice(0)].end());
  for (std::size_t axis = 0; axis < spec_.grid.size(); ++axis) {
    const SweepAxis& a = spec_.grid[axis];
    out.push_back(a.path + "=" +
                  (a.range ? value_in(*a.range, coordinate(index, axis + 1)) : a.values[choice(axis + 1)]));
  }
  return out;
}

bool SweepPoints::allowed(const std::vector<std::string>& overrides) const {
  return std::all_of(spec_.constraints.begin(), spec_.constraints.end(), [&](const Expression& constraint) {
    return constraint.holds([&](const std::string& name) { return lookup_override(overrides, name); });
  });
}

void SweepPoints::keep_grid() {
  const std::int64_t size = space_size(spec_);
  for (std::int64_t i = 0; i < size; ++i)
    if (spec_.constraints.empty() || allowed(grid_point(i)))
      kept_.push_back(i);
    else
      ++excluded_;
}

void SweepPoints::keep_sample() {
  const SweepSample& sample = *spec_.sample;
  if (sample.points < 1 || sample.points > kMaxSweepPoints)
    throw InputError("sweep '" + spec_.name + "'",
                     fmt::format("sample.points {} is not between 1 and {}", sample.points, kMaxSweepPoints));
  const bool again = sample.method == SampleMethod::random && !spec_.constraints.empty();
  if (sample.method == SampleMethod::latin_hypercube)
    for (std::size_t axis = 0; axis <= spec_.grid.size(); ++axis)
      strata_.push_back(
          permutation(sample.points, Stream(sample.seed, Purpose::sampling, (std::uint64_t{1} << 40) + axis)));
  const std::int64_t draws = again ? sample.points * 1000 : sample.points;
  for (std::int64_t i = 0; i < draws && size() < sample.points; ++i)
    if (allowed(drawn_point(i)))
      kept_.push_back(i);
    else
      ++excluded_;
}

} // namespace tessella
