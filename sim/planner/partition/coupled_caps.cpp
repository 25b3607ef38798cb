#include "sim/planner/partition/coupled_caps.h"

#include <algorithm>

#include "sim/planner/overlap/overlap_graph.h"
#include "sim/planner/partition/overlap_problem.h"
#include "sim/planner/partition/partition_exact.h"
#include "sim/planner/partition/rank_sum.h"

namespace tessella {
namespace {

constexpr std::size_t kMostRanges = 600; // of a stage, for the last, exact search
constexpr std::int64_t kNodes = 20'000;  // of one search; where caps are nearly met a proof could take minutes

using Ranges = std::vector<std::vector<StageContent>>;

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// The chain as an overlap problem whose only edges are the stages themselves.
class Balance {
 public:
  Balance(std::span<const ChainLayer> layers, std::span<const ChainStage> stages, const Partition& start,
          const StageMemory& memory)
      : start_(start), memory_(memory), upto_(1) {
    for (const ChainLayer& l : layers) upto_.push_back(upto_.back() + l.time);
    for (const ChainStage& s : stages) fixed_.push_back(s.time);
    graph_.num_stages = static_cast<std::int32_t>(stages.size());
    for (std::int32_t s = 0; s < graph_.num_stages; ++s) graph_.edges.push_back({s, s, 1});
    cost_ = [this](const StageContent& c, const StageContent&) { return time(c); };
  }

  std::optional<Partition> run() const {
    std::optional<Partition> best;
    for (std::int32_t radius = 1; !best && radius <= 4; radius *= 2) best = solve(candidates_around(start_, radius));
    if (!best) return std::nullopt;
    const Ranges all = ranges_upto(bottleneck(graph_, *best, cost_));
    const auto few = [](const auto& ranges) { return ranges.size() <= kMostRanges; };
    if (std::all_of(all.begin(), all.end(), few))
      if (auto optimum = solve(all)) best = std::move(optimum);
    return evened(graph_, *best, cost_, [this](const Partition& p) { return memory_.slack(p).count >= 0; });
  }

 private:
  Duration time(const StageContent& c) const {
    return upto_[at(c.first_layer + c.num_layers)] - upto_[at(c.first_layer)] +
           (c.embedding ? fixed_.front() : Duration{}) + (c.loss ? fixed_.back() : Duration{});
  }

  std::optional<Partition> solve(const Ranges& ranges) const {
    const PartitionProblem problem = partition_problem(graph_, ranges, cost_, &memory_);
    const auto found = solve_exact(problem, kNodes);
    if (!found) return std::nullopt;
    return partition_of_choice(problem, found->choice);
  }

  // Every range that a partition whose stages all take at most `most` can give a stage.
  Ranges ranges_upto(Duration most) const {
    const std::size_t n = upto_.size() - 1;
    const std::size_t k = start_.stages.size();
    const bool may_empty = std::any_of(start_.stages.begin(), start_.stages.end(),
                                       [](const StageContent& s) { return s.num_layers == 0; });
    Ranges all(k);
    std::vector<char> reached(n + 1, 0);
    reached[0] = 1;
    for (std::size_t s = 0; s < k; ++s) {
      std::vector<char> next(n + 1, 0);
      for (std::size_t i = 0; i <= n; ++i)
        for (std::size_t j = i + (may_empty ? 0 : 1); reached[i] != 0 && j <= n; ++j) {
          StageContent c = start_.stages[s];
          c.first_layer = static_cast<std::int32_t>(i);
          c.num_layers = static_cast<std::int32_t>(j - i);
          if (time(c) > most) break;
          next[j] = 1;
          all[s].push_back(c);
        }
      reached = std::move(next);
    }
    keep_those_that_end(all, n);
    return all;
  }

  // Backwards: a range stays when the stages after it can take the rest.
  static void keep_those_that_end(Ranges& all, std::size_t n) {
    std::vector<char> wanted(n + 1, 0);
    wanted[n] = 1;
    for (std::size_t s = all.size(); s-- > 0;) {
      std::erase_if(all[s], [&](const StageContent& c) { return wanted[at(c.first_layer + c.num_layers)] == 0; });
      std::fill(wanted.begin(), wanted.end(), 0);
      for (const StageContent& c : all[s]) wanted[at(c.first_layer)] = 1;
    }
  }

  const Partition& start_;
  const StageMemory& memory_;
  std::vector<Duration> upto_, fixed_;
  OverlapGraph graph_;
  EdgeCost cost_;
};

} // namespace

std::optional<Partition> balance_under_caps(std::span<const ChainLayer> layers, std::span<const ChainStage> stages,
                                            const Partition& start, const StageMemory& memory) {
  if (memory.slack(start).count >= 0) return start;
  return Balance(layers, stages, start, memory).run();
}

std::optional<Leanest> leanest_partition(const PartitionProblem& problem, const Partition& known) {
  if (problem.limits.empty()) return std::nullopt;
  PartitionProblem bytes; // a byte counts as a picosecond, a limit as a rank
  bytes.candidates = problem.candidates;
  for (const PartitionProblem::Limit& l : problem.limits) {
    OverlapRank& rank = bytes.ranks.emplace_back(OverlapRank{l.stages, {}});
    for (std::size_t i = 0; i < l.stages.size(); ++i) {
      PartitionProblem::Edge& own = bytes.edges.emplace_back(PartitionProblem::Edge{l.stages[i], l.stages[i], {}});
      for (const Bytes b : l.load[i]) own.cost.push_back(Duration{b.count});
      rank.runs.push_back({static_cast<std::int32_t>(bytes.edges.size()) - 1, 1});
    }
  }
  const auto found = solve_rank_sum(bytes, known);
  if (!found) return std::nullopt;
  Leanest leanest{partition_of_choice(bytes, found->choice), {}, 0, {}, {}, found->proven()};
  std::optional<Bytes> most;
  for (const PartitionProblem::Limit& l : problem.limits) {
    Bytes sum, largest;
    std::int32_t fullest = 0;
    for (std::size_t i = 0; i < l.stages.size(); ++i) {
      const Bytes load = l.load[i][at(found->choice[at(l.stages[i])])];
      if (load > largest) largest = load, fullest = l.stages[i];
      sum += load;
    }
    if (most && sum <= *most) continue;
    most = sum;
    leanest.stages = l.stages;
    leanest.fullest = fullest;
    leanest.held = largest;
    leanest.missing = sum - l.cap;
  }
  return leanest;
}

} // namespace tessella
