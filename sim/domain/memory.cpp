#include "sim/domain/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tessella {
namespace {

double gb(Bytes b) {
  return static_cast<double>(b.count) * 1e-9;
}

std::string components(const RankMemory& m) {
  std::array<std::pair<Bytes, std::string>, 3> parts = {{
      {m.model_state(), fmt::format("model state {:.1f} GB (weights {:.1f}, gradients {:.1f}, optimizer {:.1f})",
                                    gb(m.model_state()), gb(m.weights), gb(m.gradients), gb(m.optimizer))},
      {m.activations, fmt::format("activations {:.1f} GB ({:g} in flight)", gb(m.activations), m.in_flight_chunks)},
      {m.buffers, fmt::format("buffers {:.1f} GB", gb(m.buffers))},
  }};
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  return parts[0].second + ", " + parts[1].second + ", " + parts[2].second;
}

} // namespace

std::string verdict(const MemoryReport& report) {
  const RankMemory& m = report.ranks[static_cast<std::size_t>(report.peak_rank)];
  std::string text =
      fmt::format("{}: pipeline rank {} needs {:.1f} GB of {:.1f} GB ({:.0f} GiB): {}",
                  report.fits ? "fits" : "does not fit", report.peak_rank, gb(m.peak()), gb(report.capacity),
                  static_cast<double>(report.capacity.count) / static_cast<double>(1 << 30), components(m));
  if (report.fits) return text;
  if (report.smallest_world)
    return text + fmt::format("; smallest world that fits: {} GPUs ({}); otherwise offload or recompute",
                              *report.smallest_world, report.smallest_world_plan);
  return text + "; no world that was tried fits: offload, recompute, or use more GPUs";
}

} // namespace tessella
