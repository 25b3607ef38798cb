#include "sim/planner/partition/overlap_problem.h"

#include <algorithm>

namespace tessella {
namespace {

using Alive = std::vector<std::vector<char>>; // [stage][candidate]

std::int64_t alive_in(const std::vector<char>& stage) {
  return std::count(stage.begin(), stage.end(), 1);
}

// The pairs of one edge that cost at most the ceiling.
struct Pairs {
  std::size_t forward, backward;     // stages
  std::vector<std::vector<char>> ok; // [forward candidate][backward candidate]

  std::int64_t count(const Alive& alive) const {
    std::int64_t n = 0;
    for (std::size_t c = 0; c < ok.size(); ++c)
      for (std::size_t d = 0; d < ok[c].size(); ++d)
        n += ok[c][d] != 0 && alive[forward][c] != 0 && alive[backward][d] != 0 ? 1 : 0;
    return n;
  }
  // Candidates without a pair go; true when one did.
  bool sweep(Alive& alive) const {
    std::vector<char> f(ok.size(), 0), b(alive[backward].size(), 0);
    for (std::size_t c = 0; c < ok.size(); ++c)
      for (std::size_t d = 0; d < b.size(); ++d)
        if (ok[c][d] != 0 && alive[forward][c] != 0 && alive[backward][d] != 0) f[c] = b[d] = 1;
    const Alive before = alive;
    for (std::size_t c = 0; c < f.size(); ++c) alive[forward][c] = alive[forward][c] & f[c];
    for (std::size_t d = 0; d < b.size(); ++d) alive[backward][d] = alive[backward][d] & b[d];
    return alive != before;
  }
};

struct Evenness {
  Duration bottleneck;
  double squares = 0.0;
};

Evenness evenness(const OverlapGraph& graph, const Partition& p, const EdgeCost& cost) {
  Evenness e;
  for (const OverlapEdge& edge : graph.edges) {
    const Duration d = cost(p.stages[static_cast<std::size_t>(edge.forward_stage)],
                            p.stages[static_cast<std::size_t>(edge.backward_stage)]);
    e.bottleneck = max(e.bottleneck, d);
    e.squares += static_cast<double>(edge.count) * d.seconds() * d.seconds();
  }
  return e;
}

} // namespace

Partition evened(const OverlapGraph& graph, const Partition& partition, const EdgeCost& cost,
                 const std::function<bool(const Partition&)>& fits) {
  constexpr int kMostRounds = 100;
  Partition best = partition;
  Evenness least = evenness(graph, best, cost);
  for (int round = 0; round < kMostRounds; ++round) {
    Partition next = best;
    for (std::size_t s = 0; s + 1 < best.stages.size(); ++s)
      for (const std::int32_t by : {1, -1}) {
        Partition p = best;
        p.stages[s].num_layers += by;
        p.stages[s + 1].num_layers -= by;
        p.stages[s + 1].first_layer += by;
        if (p.stages[s].num_layers < 1 || p.stages[s + 1].num_layers < 1) continue;
        const Evenness e = evenness(graph, p, cost);
        if (e.bottleneck > least.bottleneck || e.squares >= least.squares || !fits(p)) continue;
        least.squares = e.squares;
        next = std::move(p);
      }
    if (next == best) break;
    best = std::move(next);
  }
  return best;
}

OverlapProblem overlap_problem(const OverlapGraph& graph, const Partition& baseline, std::int32_t radius,
                               const EdgeCost& cost, const StageMemory* memory) {
  OverlapProblem problem;
  problem.whole = partition_problem(graph, candidates_around(baseline, radius), cost, memory);
  const bool is_ceiling = memory == nullptr || memory->slack(baseline).count >= 0;
  problem.pruned = is_ceiling ? prune(problem.whole, bottleneck(graph, baseline, cost)) : problem.whole;
  return problem;
}

EquationSize equation_size(const OverlapGraph& graph, const std::vector<std::vector<StageContent>>& candidates,
                           const EdgeCost& cost, Duration ceiling) {
  EquationSize size;
  Alive alive;
  for (const auto& stage : candidates) {
    alive.emplace_back(stage.size(), 1);
    size.variables += static_cast<std::int64_t>(stage.size());
  }
  std::vector<Pairs> edges;
  for (const OverlapEdge& e : graph.edges) {
    Pairs& pairs = edges.emplace_back(
        Pairs{static_cast<std::size_t>(e.forward_stage), static_cast<std::size_t>(e.backward_stage), {}});
    for (const StageContent& f : candidates[pairs.forward]) {
      std::vector<char>& row = pairs.ok.emplace_back();
      for (const StageContent& b : candidates[pairs.backward]) row.push_back(cost(f, b) <= ceiling ? 1 : 0);
      size.variables += static_cast<std::int64_t>(row.size());
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Pairs& pairs : edges) changed = pairs.sweep(alive) || changed;
  }
  for (const auto& stage : alive) size.pruned += alive_in(stage);
  for (const Pairs& pairs : edges) size.pruned += pairs.count(alive);
  return size;
}

} // namespace tessella
