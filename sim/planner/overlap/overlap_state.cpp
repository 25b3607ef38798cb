#include "sim/planner/overlap/overlap_state.h"

#include <algorithm>
#include <limits>

namespace tessella {

std::optional<SearchJobs> search_jobs(const PairProblem& problem) {
  SearchJobs jobs;
  if (problem.tasks.size() > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
  std::vector<std::size_t> place(problem.tasks.size()); // in its chain
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    const PairTask& task = problem.tasks[t];
    if (problem.ops[t].size() > std::numeric_limits<std::uint8_t>::max()) return std::nullopt;
    if (task.movable) continue;
    place[t] = jobs.chains[task.id.half].size();
    jobs.chains[task.id.half].push_back(t);
  }
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    if (!problem.tasks[t].movable) continue;
    auto kind = std::find_if(jobs.kinds.begin(), jobs.kinds.end(), [&](const SearchJobs::MovableKind& k) {
      return problem.ops[k.tasks.front()] == problem.ops[t];
    });
    if (kind == jobs.kinds.end()) {
      kind = jobs.kinds.insert(kind, SearchJobs::MovableKind{});
      for (std::size_t half = 0; half < 2; ++half) kind->released[half].resize(jobs.chains[half].size() + 1);
    }
    kind->tasks.push_back(t);
    const std::size_t after = *problem.tasks[t].after;
    std::vector<std::uint16_t>& released = kind->released[problem.tasks[after].id.half];
    for (std::size_t done = place[after] + 1; done < released.size(); ++done) ++released[done];
  }
  if (jobs.kinds.size() > kMaxMovableKinds) return std::nullopt;
  return jobs;
}

} // namespace tessella
