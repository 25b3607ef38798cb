// What slows single ranks down, and expert work that moves inside a node.
#include <algorithm>
#include <cmath>

#include "sim/exec/replica.h"

namespace tessella {

void Replica::find_handicaps() {
  const std::int32_t per_position = program_.replicas * program_.group_size;
  for (Group& g : groups_) g.handicaps.clear();
  for (const Handicap& h : program_.handicaps) {
    const std::int32_t inside = h.rank % per_position;
    if (inside / program_.group_size != index_) continue;
    groups_[static_cast<std::size_t>(h.rank / per_position)].handicaps.emplace_back(
        static_cast<std::size_t>(inside % program_.group_size), &h);
  }
}

// A collective is as slow as its worst member.
bool Replica::apply_handicaps(const Group& group, const Op& op, std::size_t count, bool differ) {
  const std::size_t width = n_ / count;
  const auto part = static_cast<std::size_t>(op.cls);
  for (auto h = group.handicaps.begin(); h != group.handicaps.end();) {
    const std::size_t block = h->first / width;
    double worst = 1.0;
    for (; h != group.handicaps.end() && h->first / width == block; ++h)
      worst = std::max(worst, h->second->factor[part]);
    if (worst == 1.0) continue;
    if (!differ) std::fill_n(work_.begin() + 1, count - 1, work_[0]);
    differ = count > 1;
    work_[block] = scaled(work_[block], worst);
  }
  return differ;
}

// Everyone in a block ends at the same time, if that is sooner than the busiest alone.
void Replica::steal(const Op& op) {
  if (op.work != WorkKind::rank_load) return;
  const auto width = static_cast<std::size_t>(program_.stealing.width);
  for (std::size_t first = 0; first < n_; first += width) {
    const auto block = std::span(work_).subspan(first, width);
    Duration sum;
    for (const Duration d : block) sum += d;
    const Duration mean{sum.ps / static_cast<std::int64_t>(width)};
    Duration moved;
    for (const Duration d : block) moved += max(Duration{}, d - mean);
    const Duration even = mean + scaled({moved.ps / static_cast<std::int64_t>(width)}, program_.stealing.toll);
    if (even < *std::max_element(block.begin(), block.end())) std::fill(block.begin(), block.end(), even);
  }
}

} // namespace tessella
