#include "sim/planner/partition/partition_dp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/check.h"

namespace tessella {
namespace {

// Prefix sums, and for each stage the boundaries that a bottleneck lets it reach.
class Chain {
 public:
  Chain(std::span<const ChainLayer> layers, std::span<const ChainStage> stages, bool allow_empty)
      : stages_(stages), n_(layers.size()), min_layers_(allow_empty ? 0 : 1) {
    time_.push_back(0);
    state_.push_back(0);
    activation_.push_back(0);
    for (const ChainLayer& l : layers) {
      TSL_CHECK(l.time.ps >= 0 && l.state.count >= 0 && l.activation.count >= 0);
      time_.push_back(time_.back() + l.time.ps);
      state_.push_back(state_.back() + l.state.count);
      activation_.push_back(activation_.back() + l.activation.count);
    }
  }

  std::int64_t stage_time(std::size_t s, std::size_t i, std::size_t j) const {
    return stages_[s].time.ps + time_[j] - time_[i];
  }
  std::int64_t stage_memory(std::size_t s, std::size_t i, std::size_t j) const {
    return stages_[s].memory.count + state_[j] - state_[i] + stages_[s].in_flight * (activation_[j] - activation_[i]);
  }
  bool fits(std::size_t s, std::size_t i, std::size_t j, std::int64_t bottleneck, std::int64_t extra) const {
    return stage_time(s, i, j) <= bottleneck &&
           (!stages_[s].cap || stage_memory(s, i, j) <= stages_[s].cap->count + extra);
  }

  // [stage][boundary]: can stages 0..stage end there? From each start a stage reaches an interval of ends, because time
  // and memory grow with the interval; its far end moves only forward as the start does.
  bool probe(std::int64_t bottleneck, std::int64_t extra) {
    reached_.assign(stages_.size(), std::vector<char>(n_ + 1, 0));
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      std::size_t far = 0;
      std::size_t marked = 0; // ends below it are decided for all later starts
      for (std::size_t i = 0; i <= n_; ++i) {
        if (s == 0 ? i > 0 : reached_[s - 1][i] == 0) continue;
        far = std::max(far, i);
        if (!fits(s, i, i, bottleneck, extra)) continue;
        while (far < n_ && fits(s, i, far + 1, bottleneck, extra)) ++far;
        for (std::size_t j = std::max(i + min_layers_, marked); j <= far; ++j) reached_[s][j] = 1;
        marked = std::max(marked, far + 1);
      }
    }
    return reached_.empty() ? n_ == 0 : reached_.back()[n_] != 0;
  }

  // Among the partitions with this bottleneck, which there must be: the smallest sum of squared stage times.
  std::vector<std::int32_t> evenest(std::int64_t bottleneck) const {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    std::vector<double> before(n_ + 1, kNever);
    before[0] = 0.0;
    std::vector<std::vector<std::int32_t>> from(stages_.size(), std::vector<std::int32_t>(n_ + 1, 0));
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      std::vector<double> best(n_ + 1, kNever);
      for (std::size_t i = 0; i <= n_; ++i) {
        if (before[i] == kNever) continue;
        for (std::size_t j = i + min_layers_; j <= n_ && fits(s, i, j, bottleneck, 0); ++j) {
          const auto own = static_cast<double>(stage_time(s, i, j));
          if (before[i] + own * own > best[j]) continue;
          best[j] = before[i] + own * own;
          from[s][j] = static_cast<std::int32_t>(i);
        }
      }
      before = std::move(best);
    }
    std::vector<std::int32_t> ends(stages_.size());
    auto j = static_cast<std::int32_t>(n_);
    for (std::size_t s = stages_.size(); s-- > 0;) {
      ends[s] = j;
      j = from[s][static_cast<std::size_t>(j)];
    }
    return ends;
  }

  std::int64_t largest_total() const {
    std::int64_t fixed = 0;
    for (const ChainStage& s : stages_) fixed = std::max(fixed, s.time.ps);
    return fixed + time_.back();
  }
  std::size_t num_layers() const { return n_; }

 private:
  std::span<const ChainStage> stages_;
  std::size_t n_;
  std::size_t min_layers_;
  std::vector<std::int64_t> time_, state_, activation_;
  std::vector<std::vector<char>> reached_;
};

// The smallest x in [low, high] with ok(x); ok(high) holds and ok is monotone.
template <class Ok>
std::int64_t bisect(std::int64_t low, std::int64_t high, Ok ok) {
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (ok(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

} // namespace

Duration effective_cost(const LayerTimes& layer, double efficiency) {
  TSL_CHECK(efficiency >= 0.0 && efficiency <= 1.0);
  const Duration both = min(layer.compute, layer.communication);
  const Duration hidden{static_cast<std::int64_t>(std::llround(efficiency * static_cast<double>(both.ps)))};
  return layer.compute + layer.communication - hidden + layer.unoverlappable;
}

std::optional<ChainPartition> min_max_chain(std::span<const ChainLayer> layers, std::span<const ChainStage> stages,
                                            bool allow_empty) {
  Chain chain(layers, stages, allow_empty);
  const std::int64_t most = chain.largest_total();
  if (stages.empty() || !chain.probe(most, 0)) return std::nullopt;
  const std::int64_t best = bisect(0, most, [&](std::int64_t t) { return chain.probe(t, 0); });
  return ChainPartition{chain.evenest(best), Duration{best}};
}

std::optional<ChainPartition> min_max_intervals(std::int32_t num_layers, std::int32_t num_stages,
                                                const IntervalTime& time, bool allow_empty) {
  const auto n = static_cast<std::size_t>(num_layers);
  const auto k = static_cast<std::size_t>(num_stages);
  if (k == 0) return std::nullopt;
  const std::size_t least = allow_empty ? 0 : 1;
  const Duration never = Duration::max();
  // [stage][boundary] smallest bottleneck of stages 0..stage ending there, and the latest start that gives it.
  std::vector<std::vector<Duration>> best(k, std::vector<Duration>(n + 1, never));
  std::vector<std::vector<std::size_t>> from(k, std::vector<std::size_t>(n + 1, 0));
  for (std::size_t s = 0; s < k; ++s)
    for (std::size_t i = 0; i <= n; ++i) {
      const Duration before = s > 0 ? best[s - 1][i] : i > 0 ? never : Duration{0};
      if (before == never) continue;
      for (std::size_t j = i + least; j <= n; ++j) {
        const auto own = time(static_cast<std::int32_t>(s), static_cast<std::int32_t>(i), static_cast<std::int32_t>(j));
        if (!own) continue;
        const Duration worst = max(before, *own);
        if (worst > best[s][j]) continue;
        best[s][j] = worst;
        from[s][j] = i;
      }
    }
  if (best[k - 1][n] == never) return std::nullopt;
  ChainPartition result{std::vector<std::int32_t>(k), best[k - 1][n]};
  std::size_t j = n;
  for (std::size_t s = k; s-- > 0;) {
    result.ends[s] = static_cast<std::int32_t>(j);
    j = from[s][j];
  }
  return result;
}

std::optional<MemoryShortfall> memory_shortfall(std::span<const ChainLayer> layers, std::span<const ChainStage> stages,
                                                bool allow_empty) {
  Chain chain(layers, stages, allow_empty);
  const std::int64_t any = chain.largest_total();
  std::int64_t most = 0;
  for (std::size_t s = 0; s < stages.size(); ++s)
    most = std::max(most, chain.stage_memory(s, 0, layers.size()) - (stages[s].cap ? stages[s].cap->count : 0));
  if (stages.empty() || !chain.probe(any, most) || chain.probe(any, 0)) return std::nullopt;
  const std::int64_t missing = bisect(0, most, [&](std::int64_t extra) { return chain.probe(any, extra); });
  // Which stage needs all of it: the one whose cap alone, left as it is, keeps the chain infeasible.
  for (std::size_t s = 0; s < stages.size(); ++s) {
    std::vector<ChainStage> others(stages.begin(), stages.end());
    for (std::size_t t = 0; t < others.size(); ++t)
      if (others[t].cap) *others[t].cap += Bytes{t == s ? missing - 1 : missing};
    if (!Chain(layers, others, allow_empty).probe(any, 0))
      return MemoryShortfall{Bytes{missing}, static_cast<std::int32_t>(s)};
  }
  return MemoryShortfall{Bytes{missing}, 0};
}

} // namespace tessella
