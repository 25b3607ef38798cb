// Safe pruning of a partition problem (overlap_graph.h).
#include <algorithm>

#include "sim/planner/overlap/overlap_graph.h"

namespace tessella {
namespace {

class Pruner {
 public:
  Pruner(const PartitionProblem& problem, Duration ceiling) : problem_(problem), ceiling_(ceiling) {
    for (const auto& stage : problem.candidates) alive_.emplace_back(stage.size(), true);
  }

  PartitionProblem run() {
    while (sweep()) {
    }
    return result();
  }

 private:
  // One round over all candidates; true when something went.
  bool sweep() {
    bool changed = false;
    for (const PartitionProblem::Edge& e : problem_.edges) changed = sweep_edge(e) || changed;
    for (std::size_t s = 0; s + 1 < alive_.size(); ++s) changed = sweep_boundary(s) || changed;
    return changed;
  }

  bool sweep_edge(const PartitionProblem::Edge& e) {
    std::vector<bool>& forward = alive_[static_cast<std::size_t>(e.forward_stage)];
    std::vector<bool>& backward = alive_[static_cast<std::size_t>(e.backward_stage)];
    std::vector<bool> forward_ok(forward.size()), backward_ok(backward.size());
    if (e.forward_stage == e.backward_stage) {
      for (std::size_t c = 0; c < forward.size(); ++c) forward_ok[c] = e.cost[c] <= ceiling_;
      return restrict(forward, forward_ok);
    }
    for (std::size_t c = 0; c < forward.size(); ++c)
      for (std::size_t d = 0; forward[c] && d < backward.size(); ++d)
        if (backward[d] && e.cost[c * backward.size() + d] <= ceiling_) forward_ok[c] = backward_ok[d] = true;
    const bool a = restrict(forward, forward_ok);
    const bool b = restrict(backward, backward_ok);
    return a || b;
  }

  bool sweep_boundary(std::size_t s) {
    const auto& left = problem_.candidates[s];
    const auto& right = problem_.candidates[s + 1];
    std::vector<bool> left_ok(left.size()), right_ok(right.size());
    for (std::size_t c = 0; c < left.size(); ++c)
      for (std::size_t d = 0; alive_[s][c] && d < right.size(); ++d)
        if (alive_[s + 1][d] && left[c].first_layer + left[c].num_layers == right[d].first_layer)
          left_ok[c] = right_ok[d] = true;
    const bool a = restrict(alive_[s], left_ok);
    const bool b = restrict(alive_[s + 1], right_ok);
    return a || b;
  }

  static bool restrict(std::vector<bool>& alive, const std::vector<bool>& ok) {
    bool changed = false;
    for (std::size_t i = 0; i < alive.size(); ++i) {
      changed = changed || (alive[i] && !ok[i]);
      alive[i] = alive[i] && ok[i];
    }
    return changed;
  }

  template <class T>
  static std::vector<T> survivors(const std::vector<T>& all, const std::vector<bool>& alive) {
    std::vector<T> left;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (alive[i]) left.push_back(all[i]);
    return left;
  }

  PartitionProblem result() const {
    PartitionProblem out;
    out.ranks = problem_.ranks;
    for (std::size_t s = 0; s < alive_.size(); ++s)
      out.candidates.push_back(survivors(problem_.candidates[s], alive_[s]));
    for (const PartitionProblem::Edge& e : problem_.edges) {
      const std::vector<bool>& forward = alive_[static_cast<std::size_t>(e.forward_stage)];
      const std::vector<bool>& backward = alive_[static_cast<std::size_t>(e.backward_stage)];
      PartitionProblem::Edge edge{e.forward_stage, e.backward_stage, {}};
      const bool loop = e.forward_stage == e.backward_stage;
      for (std::size_t c = 0; c < forward.size(); ++c)
        for (std::size_t d = 0; forward[c] && d < (loop ? 1 : backward.size()); ++d) {
          if (!loop && !backward[d]) continue;
          const Duration cost = e.cost[loop ? c : c * backward.size() + d];
          edge.cost.push_back(cost <= ceiling_ ? cost : Duration::max());
        }
      out.edges.push_back(std::move(edge));
    }
    for (const PartitionProblem::Limit& l : problem_.limits) {
      PartitionProblem::Limit limit{l.stages, {}, l.cap};
      for (std::size_t i = 0; i < l.stages.size(); ++i)
        limit.load.push_back(survivors(l.load[i], alive_[static_cast<std::size_t>(l.stages[i])]));
      out.limits.push_back(std::move(limit));
    }
    return out;
  }

  const PartitionProblem& problem_;
  Duration ceiling_;
  std::vector<std::vector<bool>> alive_;
};

} // namespace

PartitionProblem prune(const PartitionProblem& problem, Duration ceiling) {
  return Pruner(problem, ceiling).run();
}

} // namespace tessella
