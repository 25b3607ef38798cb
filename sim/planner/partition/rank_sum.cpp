#include "sim/planner/partition/rank_sum.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/planner/partition/rank_columns.h"
#include "sim/planner/partition/rank_join.h"
#include "sim/planner/partition/refine.h"

namespace tessella {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

using Choice = std::vector<std::int32_t>;

// Duration::max() where a pair is forbidden.
std::vector<Duration> rank_sums(const PartitionProblem& problem, const Choice& choice) {
  std::vector<Duration> sums;
  for (const OverlapRank& rank : problem.ranks) {
    Duration& sum = sums.emplace_back();
    for (const OverlapRank::Run& run : rank.runs) {
      const PartitionProblem::Edge& e = problem.edges[at(run.edge)];
      const auto f = at(choice[at(e.forward_stage)]);
      const auto b = at(choice[at(e.backward_stage)]);
      const std::size_t width = problem.candidates[at(e.backward_stage)].size();
      const Duration cost = e.cost[e.forward_stage == e.backward_stage ? f : f * width + b];
      sum = cost == Duration::max() || sum == Duration::max() ? Duration::max() : sum + cost * run.count;
    }
  }
  return sums;
}

bool within_limits(const PartitionProblem& problem, const Choice& choice) {
  for (const PartitionProblem::Limit& l : problem.limits) {
    Bytes sum;
    for (std::size_t i = 0; i < l.stages.size(); ++i) sum += l.load[i][at(choice[at(l.stages[i])])];
    if (sum > l.cap) return false;
  }
  return true;
}

// The partition as a choice of the problem's candidates; nothing when it is none, or beyond the limits.
std::optional<Choice> choice_of(const PartitionProblem& problem, const Partition& partition) {
  Choice choice;
  for (std::size_t s = 0; s < problem.candidates.size(); ++s) {
    const auto& all = problem.candidates[s];
    const auto found = std::find(all.begin(), all.end(), partition.stages[s]);
    if (found == all.end()) return std::nullopt;
    choice.push_back(static_cast<std::int32_t>(found - all.begin()));
  }
  if (!within_limits(problem, choice) || rank_sum_of_choice(problem, choice) == Duration::max()) return std::nullopt;
  return choice;
}

// Moves of one layer while they make the largest rank sum smaller, or else the squares of all: a ceiling near the
// optimum, so that few thresholds above it are searched.
Choice climbed(const PartitionProblem& problem, Choice best) {
  const auto worth = [&](const Choice& c) {
    double squares = 0.0;
    for (const Duration sum : rank_sums(problem, c)) squares += sum.seconds() * sum.seconds();
    return std::pair(rank_sum_of_choice(problem, c), squares);
  };
  for (auto least = worth(best);;) {
    std::optional<Choice> next;
    for (const Partition& p : one_layer_moves(partition_of_choice(problem, best))) {
      const auto moved = choice_of(problem, p);
      if (!moved || worth(*moved) >= least) continue;
      next = moved;
      least = worth(*moved);
    }
    if (!next) return best;
    best = *next;
  }
}

// Does every stage have one rank, and only that?
bool stages_have_one_rank(const PartitionProblem& problem) {
  std::vector<int> ranks(problem.candidates.size(), 0);
  for (const OverlapRank& rank : problem.ranks)
    for (const std::int32_t s : rank.stages) ++ranks[at(s)];
  return std::all_of(ranks.begin(), ranks.end(), [](int n) { return n == 1; });
}

class RankSumSearch {
 public:
  RankSumSearch(const PartitionProblem& problem, const std::optional<Choice>& known, std::int64_t max_nodes)
      : problem_(problem), known_(known), nodes_left_(max_nodes) {
    if (stages_have_one_rank(problem)) {
      Choice middle;
      for (const auto& stage : problem.candidates) middle.push_back(static_cast<std::int32_t>(stage.size() / 2));
      others_.emplace(problem, known ? *known : middle);
    }
    for (std::size_t r = 0; r < problem.ranks.size(); ++r)
      ranks_.emplace_back(problem, r, others_ ? &*others_ : nullptr);
    for (const PartitionProblem::Limit& l : problem.limits)
      TSL_CHECK(
          std::any_of(ranks_.begin(), ranks_.end(), [&](const RankColumns& r) { return r.stages() == l.stages; }));
  }

  std::optional<PartitionSolution> run() {
    const std::int64_t allowance = nodes_left_;
    Duration floor = least_threshold(); // no partition has a smaller largest rank sum
    if (floor == Duration::max()) return std::nullopt;
    std::optional<Choice> best = known_;
    bool proven = false;
    if (known_) { // usually near the optimum: one join proves it
      const std::int64_t kept = nodes_left_ / 3;
      nodes_left_ -= kept;
      if (const auto found = join(rank_sum_of_choice(problem_, *known_))) best = found, proven = true;
      nodes_left_ += kept;
    }
    Duration step{std::max<std::int64_t>(1, floor.ps / 512)};
    for (Duration threshold = floor + step; !proven && nodes_left_ > 0 && threshold.ps < OtherRanks::kNever;) {
      if (const auto found = join(threshold)) {
        best = found;
        proven = true;
      } else if (nodes_left_ > 0) {
        floor = threshold + Duration{1};
        step = step * 2;
        threshold += step;
      }
    }
    if (!best) return std::nullopt;
    PartitionSolution solution{*best, rank_sum_of_choice(problem_, *best), floor, allowance - nodes_left_};
    if (proven) solution.lower_bound = solution.bottleneck;
    return solution;
  }

 private:
  // The largest of the ranks' own optima, and the mean of all.
  Duration least_threshold() {
    Duration floor;
    for (const RankColumns& r : ranks_) floor = max(floor, r.least(nodes_left_));
    if (!others_ || floor == Duration::max()) return floor;
    const std::int64_t total = others_->total();
    if (total >= OtherRanks::kNever) return Duration::max();
    return max(floor, Duration{total / static_cast<std::int64_t>(ranks_.size())});
  }

  // The best partition whose rank sums are all at most the threshold, the evenest among equals.
  std::optional<Choice> join(Duration threshold) {
    RankJoin joiner(problem_, ranks_, others_ ? &*others_ : nullptr);
    // What all other ranks may pay together: finite, so that ranges meet.
    const auto others = static_cast<std::int64_t>(ranks_.size()) - 1;
    const std::int64_t most = OtherRanks::kNever - 1;
    const std::int64_t rest = others > 0 && threshold.ps > most / others ? most : threshold.ps * others;
    std::vector<std::vector<RankColumn>> columns;
    for (const RankColumns& r : ranks_) columns.push_back(r.upto(threshold, rest, nodes_left_));
    if (nodes_left_ == 0) return std::nullopt;
    const auto least = joiner.run(columns, threshold, false, nodes_left_);
    if (!least) return std::nullopt;
    const Duration optimum = rank_sum_of_choice(problem_, *least);
    for (auto& rank : columns) std::erase_if(rank, [&](const RankColumn& c) { return c.sum > optimum; });
    std::int64_t again = nodes_left_;
    const auto even = joiner.run(columns, optimum, true, again);
    nodes_left_ = std::max<std::int64_t>(again, 1); // the optimum is proven, whether or not the second pass ended
    return even ? even : least;
  }

  const PartitionProblem& problem_;
  const std::optional<Choice>& known_;
  std::int64_t nodes_left_;
  std::optional<OtherRanks> others_;
  std::vector<RankColumns> ranks_;
};

} // namespace

std::optional<PartitionSolution> solve_rank_sum(const PartitionProblem& problem, const Partition& known,
                                                std::int64_t max_nodes) {
  std::optional<Choice> start = choice_of(problem, known);
  if (start) start = climbed(problem, *start);
  return RankSumSearch(problem, start, max_nodes).run();
}

Duration rank_sum_of_choice(const PartitionProblem& problem, const Choice& choice) {
  const std::vector<Duration> sums = rank_sums(problem, choice);
  return sums.empty() ? Duration{} : *std::max_element(sums.begin(), sums.end());
}

} // namespace tessella
