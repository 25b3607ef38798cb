#include "sim/store/sweep_views.h"

#include <algorithm>
#include <limits>
#include <string>

namespace tessella {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

double number(const ResultRow& row, const std::string& name) {
  return std::get<double>(lookup(row, name));
}

// Distinct points of the rows that fit, by x then y.
template <class X, class Y>
std::vector<ViewPoint> points(std::span<const ResultRow> rows, const X& x, const Y& y) {
  std::vector<ViewPoint> out;
  for (const ResultRow& row : rows)
    if (row.status == "ok") out.push_back({x(row), y(row), false});
  const auto before = [](const ViewPoint& a, const ViewPoint& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; };
  std::sort(out.begin(), out.end(), before);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

} // namespace

std::vector<ViewPoint> scaling_view(std::span<const ResultRow> rows) {
  auto out = points(
      rows, [](const ResultRow& row) { return number(row, "ranks"); },
      [](const ResultRow& row) { return number(row, "mfu"); });
  for (std::size_t i = 0; i < out.size(); ++i) out[i].best = i + 1 == out.size() || out[i + 1].x != out[i].x;
  return out;
}

std::vector<ViewPoint> pareto_view(std::span<const ResultRow> rows) {
  auto out = points(
      rows, [](const ResultRow& row) { return number(row, "memory_peak_bytes") / kGiB; },
      [](const ResultRow& row) { return 1e6 / number(row, "tokens_per_s_per_gpu"); });
  double least = std::numeric_limits<double>::infinity();
  for (ViewPoint& p : out) {
    p.best = p.y < least;
    least = std::min(least, p.y);
  }
  return out;
}

} // namespace tessella
