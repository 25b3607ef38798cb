#include "sim/planner/partition/partition_exact.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "sim/planner/partition/total_memory.h"

namespace tessella {
namespace {

// A set of candidates of one stage.
class Bits {
 public:
  explicit Bits(std::size_t size = 0) : words_((size + 63) / 64, 0) {}
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void clear(std::size_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  bool meets(const Bits& o) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      if ((words_[w] & o.words_[w]) != 0) return true;
    return false;
  }
  int count() const {
    int n = 0;
    for (const std::uint64_t w : words_) n += std::popcount(w);
    return n;
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        visit(w * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
  }

 private:
  std::vector<std::uint64_t> words_;
};

// What one stage's choice allows another's to be.
struct Arc {
  std::size_t to = 0;
  std::vector<Bits> allowed; // [candidate of the own stage] -> candidates of `to`
};

using Domains = std::vector<Bits>;

// Is there a partition whose every edge costs at most a threshold?
class Feasibility {
 public:
  Feasibility(const PartitionProblem& problem, Duration threshold, std::int64_t& nodes_left)
      : problem_(problem), nodes_left_(nodes_left), arcs_(problem.candidates.size()) {
    for (const auto& stage : problem.candidates) {
      Bits all(stage.size());
      for (std::size_t c = 0; c < stage.size(); ++c) all.set(c);
      start_.push_back(std::move(all));
    }
    for (std::size_t s = 0; s + 1 < start_.size(); ++s) join_boundary(s);
    for (const PartitionProblem::Edge& e : problem.edges) join_edge(e, threshold);
    limits_of_.resize(start_.size());
    for (std::size_t l = 0; l < problem.limits.size(); ++l)
      for (const std::int32_t s : problem.limits[l].stages) limits_of_[static_cast<std::size_t>(s)].push_back(l);
  }

  // Nothing when there is none, or when the nodes ran out (then nodes_left is 0).
  std::optional<std::vector<std::int32_t>> solve() {
    std::vector<std::size_t> all(start_.size());
    for (std::size_t s = 0; s < all.size(); ++s) all[s] = s;
    if (!propagate(start_, all)) return std::nullopt;
    return branch(start_);
  }

 private:
  template <class Allows>
  void join(std::size_t a, std::size_t b, Allows allows) {
    const std::size_t n = problem_.candidates[a].size();
    const std::size_t m = problem_.candidates[b].size();
    Arc there{b, std::vector<Bits>(n, Bits(m))};
    Arc back{a, std::vector<Bits>(m, Bits(n))};
    for (std::size_t c = 0; c < n; ++c)
      for (std::size_t d = 0; d < m; ++d)
        if (allows(c, d)) {
          there.allowed[c].set(d);
          back.allowed[d].set(c);
        }
    arcs_[a].push_back(std::move(there));
    arcs_[b].push_back(std::move(back));
  }

  void join_boundary(std::size_t s) {
    const auto& left = problem_.candidates[s];
    const auto& right = problem_.candidates[s + 1];
    join(s, s + 1, [&](std::size_t c, std::size_t d) {
      return left[c].first_layer + left[c].num_layers == right[d].first_layer;
    });
  }

  void join_edge(const PartitionProblem::Edge& e, Duration threshold) {
    const auto f = static_cast<std::size_t>(e.forward_stage);
    const auto b = static_cast<std::size_t>(e.backward_stage);
    const std::size_t width = problem_.candidates[b].size();
    if (f == b) {
      for (std::size_t c = 0; c < width; ++c)
        if (e.cost[c] > threshold) start_[f].clear(c);
      return;
    }
    join(f, b, [&](std::size_t c, std::size_t d) { return e.cost[c * width + d] <= threshold; });
  }

  // Removes from stage s what no candidate of the arc's stage supports; true when something went.
  static bool revise(Domains& domains, std::size_t s, const Arc& arc) {
    bool changed = false;
    Bits& own = domains[s];
    own.for_each([&](std::size_t c) {
      if (arc.allowed[c].meets(domains[arc.to])) return;
      own.clear(c);
      changed = true;
    });
    return changed;
  }

  // Bounds: a candidate goes when even the lightest choices of the other stages leave no room for it.
  bool revise_limit(Domains& domains, const PartitionProblem::Limit& limit, std::vector<std::size_t>& changed) const {
    std::vector<Bytes> least;
    Bytes sum;
    for (std::size_t i = 0; i < limit.stages.size(); ++i) {
      Bytes lightest{std::numeric_limits<std::int64_t>::max()};
      domains[static_cast<std::size_t>(limit.stages[i])].for_each(
          [&](std::size_t c) { lightest = std::min(lightest, limit.load[i][c]); });
      least.push_back(lightest);
      sum += lightest;
    }
    if (sum > limit.cap) return false;
    for (std::size_t i = 0; i < limit.stages.size(); ++i) {
      const auto s = static_cast<std::size_t>(limit.stages[i]);
      const Bytes room = limit.cap - sum + least[i];
      bool went = false;
      domains[s].for_each([&](std::size_t c) {
        if (limit.load[i][c] <= room) return;
        domains[s].clear(c);
        went = true;
      });
      if (went) changed.push_back(s);
    }
    return true;
  }

  // To a fixed point from the stages whose domains changed; false when one is empty.
  bool propagate(Domains& domains, std::vector<std::size_t> changed) const {
    while (!changed.empty()) {
      const std::size_t s = changed.back();
      changed.pop_back();
      if (domains[s].count() == 0) return false;
      for (const Arc& arc : arcs_[s])
        for (const Arc& back : arcs_[arc.to])
          if (back.to == s && revise(domains, arc.to, back)) {
            if (domains[arc.to].count() == 0) return false;
            changed.push_back(arc.to);
          }
      for (const std::size_t l : limits_of_[s])
        if (!revise_limit(domains, problem_.limits[l], changed)) return false;
    }
    return true;
  }

  std::optional<std::vector<std::int32_t>> branch(const Domains& domains) {
    std::size_t chosen = domains.size();
    int fewest = 0;
    for (std::size_t s = 0; s < domains.size(); ++s) {
      const int n = domains[s].count();
      if (n > 1 && (chosen == domains.size() || n < fewest)) {
        chosen = s;
        fewest = n;
      }
    }
    if (chosen == domains.size()) return assignment(domains);
    std::optional<std::vector<std::int32_t>> found;
    domains[chosen].for_each([&](std::size_t c) {
      if (found || nodes_left_ == 0) return;
      --nodes_left_; // most of the time goes into choices that fail at once
      Domains next = domains;
      next[chosen] = Bits(problem_.candidates[chosen].size());
      next[chosen].set(c);
      if (propagate(next, {chosen})) found = branch(next);
    });
    return found;
  }

  static std::vector<std::int32_t> assignment(const Domains& domains) {
    std::vector<std::int32_t> choice;
    for (const Bits& d : domains) d.for_each([&](std::size_t c) { choice.push_back(static_cast<std::int32_t>(c)); });
    return choice;
  }

  const PartitionProblem& problem_;
  std::int64_t& nodes_left_;
  Domains start_;
  std::vector<std::vector<Arc>> arcs_; // [stage]
  std::vector<std::vector<std::size_t>> limits_of_;
};

// All distinct finite costs, and what no edge can go below.
std::vector<Duration> thresholds(const PartitionProblem& problem) {
  std::vector<Duration> all;
  Duration least;
  for (const PartitionProblem::Edge& e : problem.edges) {
    if (e.cost.empty()) continue;
    least = max(least, *std::min_element(e.cost.begin(), e.cost.end()));
    all.insert(all.end(), e.cost.begin(), e.cost.end());
  }
  if (all.empty()) all.push_back(Duration{});
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  all.erase(all.begin(), std::lower_bound(all.begin(), all.end(), least));
  if (!all.empty() && all.back() == Duration::max()) all.pop_back();
  return all;
}

} // namespace

std::optional<PartitionSolution> solve_exact(const PartitionProblem& problem, std::int64_t max_nodes) {
  if (!may_fit_in_total(problem)) return std::nullopt;
  const std::vector<Duration> costs = thresholds(problem);
  std::optional<PartitionSolution> best;
  std::int64_t used = 0;
  std::size_t low = 0;    // costs below it have no solution
  std::size_t proven = 0; // ... and that is proven
  std::size_t high = costs.size();
  while (low < high) {
    // The first try is the largest threshold: it decides whether there is a solution at all.
    const std::size_t middle = best ? low + (high - low) / 2 : costs.size() - 1;
    const std::int64_t allowance = max_nodes - used;
    std::int64_t left = allowance;
    const auto choice = Feasibility(problem, costs[middle], left).solve();
    used += allowance - left;
    if (choice) {
      best = PartitionSolution{*choice, bottleneck_of_choice(problem, *choice), {}, 0};
      high = static_cast<std::size_t>(std::lower_bound(costs.begin(), costs.end(), best->bottleneck) - costs.begin());
      continue;
    }
    if (left == 0) break; // undecided
    if (!best) return std::nullopt;
    low = proven = middle + 1;
  }
  if (!best) return std::nullopt;
  best->lower_bound = costs[proven];
  best->nodes = used;
  return best;
}

Duration bottleneck_of_choice(const PartitionProblem& problem, const std::vector<std::int32_t>& choice) {
  Duration worst;
  for (const PartitionProblem::Edge& e : problem.edges) {
    const auto f = static_cast<std::size_t>(choice[static_cast<std::size_t>(e.forward_stage)]);
    const auto b = static_cast<std::size_t>(choice[static_cast<std::size_t>(e.backward_stage)]);
    const std::size_t width = problem.candidates[static_cast<std::size_t>(e.backward_stage)].size();
    worst = max(worst, e.cost[e.forward_stage == e.backward_stage ? f : f * width + b]);
  }
  return worst;
}

Partition partition_of_choice(const PartitionProblem& problem, const std::vector<std::int32_t>& choice) {
  Partition partition;
  for (std::size_t s = 0; s < choice.size(); ++s)
    partition.stages.push_back(problem.candidates[s][static_cast<std::size_t>(choice[s])]);
  return partition;
}

} // namespace tessella
