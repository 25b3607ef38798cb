#include "sim/planner/partition/total_memory.h"

#include <algorithm>
#include <map>
#include <vector>

namespace tessella {
namespace {

// [stage][candidate] bytes, over all limits.
std::vector<std::vector<Bytes>> weights(const PartitionProblem& problem) {
  std::vector<std::vector<Bytes>> all;
  for (const auto& candidates : problem.candidates) all.emplace_back(candidates.size());
  for (const PartitionProblem::Limit& l : problem.limits)
    for (std::size_t i = 0; i < l.stages.size(); ++i) {
      std::vector<Bytes>& stage = all[static_cast<std::size_t>(l.stages[i])];
      for (std::size_t c = 0; c < stage.size(); ++c) stage[c] += l.load[i][c];
    }
  return all;
}

} // namespace

bool may_fit_in_total(const PartitionProblem& problem) {
  if (problem.limits.empty()) return true;
  Bytes caps;
  for (const PartitionProblem::Limit& l : problem.limits) caps += l.cap;
  const std::vector<std::vector<Bytes>> weight = weights(problem);
  std::map<std::int32_t, Bytes> lightest; // of the stages so far, by the layer that the next one begins with
  for (std::size_t s = 0; s < problem.candidates.size(); ++s) {
    std::map<std::int32_t, Bytes> next;
    for (std::size_t c = 0; c < problem.candidates[s].size(); ++c) {
      const StageContent& range = problem.candidates[s][c];
      const auto before = lightest.find(range.first_layer);
      if (s > 0 && before == lightest.end()) continue;
      const Bytes sum = (s > 0 ? before->second : Bytes{}) + weight[s][c];
      const auto [at, first] = next.emplace(range.first_layer + range.num_layers, sum);
      if (!first) at->second = std::min(at->second, sum);
    }
    lightest = std::move(next);
  }
  return std::any_of(lightest.begin(), lightest.end(), [&](const auto& end) { return end.second <= caps; });
}

} // namespace tessella
