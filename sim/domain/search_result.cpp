#include "sim/domain/search_result.h"

#include <algorithm>

namespace tessella {

const char* GroupPlace::name() const {
  if (leaf_groups > 1) return "several leaf groups";
  return nodes > 1 ? "one leaf group" : "one node";
}

std::size_t SearchResult::ties() const {
  return within(tie);
}

std::size_t SearchResult::within(double fraction) const {
  if (ranked.empty()) return 0;
  const double limit = static_cast<double>(ranked.front().step_time.ps) * (1.0 + fraction);
  return static_cast<std::size_t>(std::count_if(
      ranked.begin(), ranked.end(), [&](const RankedPlan& p) { return static_cast<double>(p.step_time.ps) <= limit; }));
}

std::string to_text(const Recompute& recompute) {
  if (recompute.granularity == RecomputeGranularity::none) return "none";
  if (recompute.granularity == RecomputeGranularity::full) return "full";
  std::string text = "selective";
  for (const RecomputeModule m : recompute.modules) text += std::string(" ") + name(m);
  return text;
}

} // namespace tessella
