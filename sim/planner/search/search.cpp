#include "sim/planner/search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "sim/base/error.h"
#include "sim/cost/memory.h"
#include "sim/engine/parallel.h"
#include "sim/planner/partition/certificate.h"
#include "sim/planner/search/fit.h"
#include "sim/planner/simulate.h"

namespace tessella {
namespace {

// Simulations between two looks at the bound; fixed, so that threads change nothing.
constexpr std::size_t kBatch = 16;

struct Candidate {
  Configuration configuration;
  Partition partition;
  Bytes free;
  Duration lower_bound;
  std::optional<Duration> step_time;
  double mfu = 0.0;
  bool covered = true;
};

// Grids that share the costs of a layer.
using CostKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::string>;

CostKey cost_key(const Configuration& c) {
  const Parallelism& p = c.parallelism;
  return {p.tp, p.cp, p.ep, p.etp, c.micro_batch_size, to_text(c.recompute)};
}

class Search {
 public:
  Search(const Scenario& scenario, const SearchOptions& options) : scenario_(scenario), options_(options) {}

  SearchResult run() {
    const std::vector<Configuration> space = search_space(scenario_, options_);
    result_.counts.enumerated = static_cast<std::int64_t>(space.size());
    result_.tie = options_.tie;
    keep_what_fits(space);
    bound();
    simulate_best_first();
    rank();
    return std::move(result_);
  }

 private:
  Scenario scenario_of(const Candidate& c) const {
    Scenario s = scenario_;
    s.parallelism = c.configuration.parallelism;
    s.batch.micro_batch_size = c.configuration.micro_batch_size;
    s.recompute = c.configuration.recompute;
    s.schedule = c.configuration.schedule;
    s.partition = c.partition;
    return s;
  }

  void keep_what_fits(const std::vector<Configuration>& space) {
    std::vector<std::optional<Candidate>> all(space.size());
    parallel_for(space.size(), options_.threads, [&](std::size_t i) {
      const auto s = legal_with_flops_layers(scenario_of({space[i], {}, {}, {}, {}, 0.0, true}));
      if (!s) return;
      all[i] = Candidate{space[i], s->partition, free_memory(*s), {}, {}, 0.0, true};
    });
    const Candidate* leanest = nullptr;
    for (std::optional<Candidate>& c : all) {
      if (!c) continue;
      ++result_.counts.legal;
      if (!leanest || c->free > leanest->free) leanest = &*c;
      if (c->free.count >= 0) candidates_.push_back(*c);
    }
    result_.counts.fit = static_cast<std::int64_t>(candidates_.size());
    if (candidates_.empty()) throw InfeasiblePlan(nothing_fits(leanest));
  }

  std::string nothing_fits(const Candidate* leanest) const {
    if (leanest == nullptr)
      return fmt::format("none of {} configurations of {} GPUs is legal", result_.counts.enumerated,
                         scenario_.parallelism.world_size);
    const Scenario s = scenario_of(*leanest);
    const Parallelism& p = s.parallelism;
    return fmt::format(
        "none of {} legal configurations of {} GPUs fits; the leanest (TP {} CP {} PP {} VPP {} EP {} ETP "
        "{} MBS {}, recompute {}) is {:.1f} GB short. {}",
        result_.counts.legal, p.world_size, p.tp, p.cp, p.pp, p.vpp, p.ep, p.etp, s.batch.micro_batch_size,
        to_text(s.recompute), -static_cast<double>(leanest->free.count) / 1e9,
        verdict(memory_of(s, schedule_of(s), 1.0)));
  }

  // Fills in every candidate's lower bound; drops those whose costs the profile lacks.
  void bound() {
    std::map<CostKey, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < candidates_.size(); ++i) groups[cost_key(candidates_[i].configuration)].push_back(i);
    std::vector<const std::vector<std::size_t>*> work;
    for (const auto& [key, members] : groups) work.push_back(&members);
    std::vector<std::vector<std::string>> missing(work.size());
    parallel_for(work.size(), options_.threads, [&](std::size_t g) {
      try {
        bound_group(*work[g]);
      } catch (const NotCovered& e) {
        missing[g] = e.missing();
        for (const std::size_t i : *work[g]) candidates_[i].covered = false;
      }
    });
    std::set<std::string> rows;
    for (const auto& m : missing) rows.insert(m.begin(), m.end());
    result_.not_covered.assign(rows.begin(), rows.end());
    const std::size_t before = candidates_.size();
    std::erase_if(candidates_, [](const Candidate& c) { return !c.covered; });
    result_.counts.not_covered = static_cast<std::int64_t>(before - candidates_.size());
    if (candidates_.empty()) throw NotCovered(result_.not_covered);
  }

  void bound_group(const std::vector<std::size_t>& members) {
    const Scenario first = scenario_of(candidates_[members.front()]);
    const LayerTable table(first, make_model_ops(first));
    for (const std::size_t i : members) {
      const Scenario s = scenario_of(candidates_[i]);
      // Message times depend on the grid; none at all is a bound for every grid.
      const Schedule schedule = schedule_of(s);
      candidates_[i].lower_bound = certify(s.model, schedule, table, {}, step_tail(s, schedule)).lower_bound;
    }
  }

  // The slowest step that would still be shown.
  Duration cut() const {
    std::vector<Duration> times;
    for (const Candidate& c : candidates_)
      if (c.step_time) times.push_back(*c.step_time);
    if (times.size() < options_.top) return Duration::max();
    std::sort(times.begin(), times.end());
    const auto tied = static_cast<std::int64_t>(static_cast<double>(times.front().ps) * (1.0 + options_.tie));
    return max(times[options_.top - 1], Duration{tied});
  }

  // Candidates that the present cut does not rule out; the number falls as the search goes on.
  std::int64_t still_possible() const {
    const Duration limit = cut();
    return std::count_if(candidates_.begin(), candidates_.end(),
                         [&](const Candidate& c) { return c.lower_bound <= limit; });
  }

  void simulate_best_first() {
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.lower_bound < b.lower_bound; });
    std::size_t done = 0;
    while (done < candidates_.size()) {
      const Duration limit = cut();
      std::size_t end = done;
      while (end < candidates_.size() && end < done + kBatch && candidates_[end].lower_bound <= limit) ++end;
      if (end == done || (options_.stop && *options_.stop)) break;
      parallel_for(end - done, options_.threads, [&](std::size_t i) { run_one(candidates_[done + i]); });
      done = end;
      if (options_.progress) options_.progress(static_cast<std::int64_t>(done), still_possible());
    }
    result_.counts.simulated = static_cast<std::int64_t>(done);
    result_.counts.bounded = static_cast<std::int64_t>(candidates_.size() - done);
  }

  void run_one(Candidate& c) const {
    try {
      const RunResult r = simulate(scenario_of(c), {});
      // Uneven routing may need more memory than the balanced load that was checked.
      if (!r.memory.fits) return;
      c.step_time = r.step_time;
      c.mfu = r.mfu;
    } catch (const NotCovered&) {
      c.covered = false;
    }
  }

  void rank() {
    std::vector<RankedPlan>& ranked = result_.ranked;
    for (const Candidate& c : candidates_)
      if (c.step_time)
        ranked.push_back({c.configuration.parallelism, c.configuration.micro_batch_size, c.configuration.recompute,
                          c.configuration.schedule, c.partition, *c.step_time, c.lower_bound, c.mfu, c.free});
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const RankedPlan& a, const RankedPlan& b) { return a.step_time < b.step_time; });
    const std::size_t shown = std::max(options_.top, result_.ties());
    if (ranked.size() > shown) ranked.resize(shown);
  }

  const Scenario& scenario_;
  const SearchOptions& options_;
  std::vector<Candidate> candidates_;
  SearchResult result_;
};

} // namespace

SearchResult search_configurations(const Scenario& scenario, const SearchOptions& options) {
  return Search(scenario, options).run();
}

} // namespace tessella
