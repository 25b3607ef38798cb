#include "sim/planner/overlap/overlap_study.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>

#include "sim/base/check.h"

namespace tessella {
namespace {

// CPU time of this process, so that a busy machine does not count.
class Stopwatch {
 public:
  double seconds() const { return static_cast<double>(std::clock() - start_) / static_cast<double>(CLOCKS_PER_SEC); }

 private:
  std::clock_t start_ = std::clock();
};

} // namespace

double MethodGaps::mean() const {
  return std::accumulate(gaps.begin(), gaps.end(), 0.0) / static_cast<double>(gaps.size());
}

double MethodGaps::quantile(double q) const {
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(gaps.size())));
  return gaps[std::clamp<std::size_t>(rank, 1, gaps.size()) - 1];
}

OverlapStudy study_overlap(const ChunkLibrary& chunks, std::span<const ChunkPair> pairs, const SearchLimits& limits) {
  TSL_CHECK(!pairs.empty());
  OverlapStudy study;
  std::vector<PairProblem> problems;
  for (const ChunkPair& pair : pairs) problems.push_back(chunks.problem(pair.first, pair.second, pair.passes));
  for (const PairProblem& problem : problems) {
    const Stopwatch watch;
    const PairResult r = schedule_pair(problem, OverlapMethod::exact, limits);
    const double seconds = watch.seconds();
    study.exact_cpu_seconds += seconds;
    study.slowest_cpu_seconds = std::max(study.slowest_cpu_seconds, seconds);
    study.proven += r.proven ? 1 : 0;
    study.gains.push_back(r.overlap_gain());
    study.exact.push_back({r.post_overlap, r.serial, r.lower_bound, r.ep_busy, r.ep_hidden});
  }
  for (const OverlapMethod method : kOverlapMethods) {
    if (method == OverlapMethod::exact || !applies(method, pairs.front().passes)) continue;
    MethodGaps gaps{method, {}, 0.0};
    const Stopwatch watch;
    std::vector<Duration> costs;
    for (const PairProblem& problem : problems) costs.push_back(schedule_pair(problem, method).post_overlap);
    gaps.cpu_seconds = watch.seconds();
    for (std::size_t p = 0; p < pairs.size(); ++p)
      gaps.gaps.push_back(costs[p].seconds() / study.exact[p].post_overlap.seconds() - 1.0);
    std::sort(gaps.gaps.begin(), gaps.gaps.end());
    study.methods.push_back(std::move(gaps));
  }
  return study;
}

} // namespace tessella
