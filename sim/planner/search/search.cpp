#include "sim/planner/search/search.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "sim/base/error.h"
#include "sim/cost/memory.h"
#include "sim/engine/parallel.h"
#include "sim/planner/partition/certificate.h"
#include "sim/planner/search/fit.h"
#include "sim/planner/search/search_text.h"
#include "sim/planner/simulate.h"
#include "sim/planner/what_if.h"
#include "sim/topology/groups.h"

namespace tessella {
namespace {

// Simulations between two looks at the bound; fixed, so that threads change nothing.
constexpr std::size_t kBatch = 16;
constexpr std::size_t kPlaceBatch = 4; // where only the fastest is wanted

struct Candidate {
  Configuration configuration;
  Partition partition;
  Bytes free;
  bool state_fits = true;
  GroupPlace place;
  Duration lower_bound;
  std::string bound_of; // which bound it is
  bool tried = false;   // simulated; without a step time its hottest rank does not fit
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
    if (const ProfileEntry* runs = scenario_.profile.find(scenario_.model.has_moe() ? "step_moe" : "step_dense"))
      if (runs->residual) result_.error = runs->residual->median;
    keep_what_fits(space);
    bound();
    simulate_best_first();
    rank();
    compare_places();
    count();
    explain();
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

  // By number of stages; "" where there are more stages than layers.
  std::map<std::int64_t, std::string> layouts(const std::vector<Configuration>& space) const {
    std::map<std::int64_t, std::string> all;
    for (const Configuration& c : space) {
      const std::int64_t stages = c.parallelism.num_stages();
      if (all.count(stages) == 0)
        all[stages] = stages > scenario_.model.num_layers() ? "" : flops_layout(scenario_, stages);
    }
    return all;
  }

  GroupPlace place_of(const Parallelism& p) const {
    const GroupSpan span = span_of(scenario_.cluster, p, GroupKind::ep);
    return {span.nodes, span.leaves};
  }

  void keep_what_fits(const std::vector<Configuration>& space) {
    const std::map<std::int64_t, std::string> layout = layouts(space);
    std::vector<std::optional<Candidate>> all(space.size());
    std::vector<std::string> broken(space.size());
    parallel_for(space.size(), options_.threads, [&](std::size_t i) {
      const std::string& stages = layout.at(space[i].parallelism.num_stages());
      Candidate c;
      c.configuration = space[i];
      LegalTrial trial =
          stages.empty() ? LegalTrial{std::nullopt, "model.num_layers"} : legal_with_layout(scenario_of(c), stages);
      broken[i] = trial.broken;
      if (!trial.scenario) return;
      const MemoryRoom room = memory_room(*trial.scenario);
      c.partition = trial.scenario->partition;
      c.free = room.free;
      c.state_fits = room.state_fits;
      all[i] = std::move(c);
    });
    const Candidate* leanest = nullptr;
    for (std::optional<Candidate>& c : all) {
      if (!c) continue;
      ++result_.counts.legal;
      if (!c->state_fits) ++result_.counts.state_too_large;
      if (!leanest || c->free > leanest->free) leanest = &*c;
      if (c->free.count >= 0) candidates_.push_back(*c);
    }
    result_.counts.fit = static_cast<std::int64_t>(candidates_.size());
    if (leanest == nullptr) throw InfeasiblePlan(nothing_legal(scenario_, result_.counts, broken));
    if (candidates_.empty()) throw InfeasiblePlan(nothing_fits(scenario_of(*leanest), leanest->free, result_.counts));
    for (Candidate& c : candidates_) c.place = place_of(c.configuration.parallelism);
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
      const PlanCertificate certificate = certify(s.model, schedule, table, {}, step_tail(s, schedule));
      candidates_[i].lower_bound = certificate.lower_bound;
      candidates_[i].bound_of = certificate.limited_by;
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

  std::int64_t tried() const {
    return std::count_if(candidates_.begin(), candidates_.end(), [](const Candidate& c) { return c.tried; });
  }

  // Simulates those of `line` whose bounds are at most the limit, in order, `batch` between two looks at the limit.
  template <class Limit>
  void simulate_in_order(const std::vector<Candidate*>& line, std::size_t batch, Limit limit_now) {
    for (auto next = line.begin(); next != line.end() && !(options_.stop && *options_.stop);) {
      const Duration limit = limit_now();
      std::vector<Candidate*> now;
      for (; next != line.end() && now.size() < batch; ++next)
        if (!(*next)->tried && (*next)->lower_bound <= limit) now.push_back(*next);
      parallel_for(now.size(), options_.threads, [&](std::size_t i) { run_one(*now[i], limit); });
      if (options_.progress) options_.progress(tried(), std::max(tried(), still_possible()));
    }
  }

  // The bound that takes milliseconds, for those that the quick one lets through.
  void tighten(Candidate& c) const {
    const PlanCertificate certificate = certify(scenario_of(c));
    if (certificate.lower_bound <= c.lower_bound) return;
    c.lower_bound = certificate.lower_bound;
    c.bound_of = certificate.limited_by;
  }

  void simulate_best_first() {
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.lower_bound < b.lower_bound; });
    std::vector<Candidate*> line;
    for (Candidate& c : candidates_) line.push_back(&c);
    simulate_in_order(line, kBatch, [this] { return cut(); });
  }

  void run_one(Candidate& c, Duration limit) const {
    try {
      if (limit < Duration::max()) tighten(c);
      if (c.lower_bound > limit) return;
      c.tried = true;
      const RunResult r = simulate(scenario_of(c), {});
      // Uneven routing may need more memory than the balanced load that was checked.
      if (!r.memory.fits) return;
      c.step_time = r.step_time;
      c.mfu = r.mfu;
    } catch (const NotCovered&) {
      c.tried = true;
      c.covered = false;
    }
  }

  static RankedPlan ranked(const Candidate& c) {
    const Configuration& k = c.configuration;
    return {k.parallelism, k.micro_batch_size, k.recompute, k.schedule, c.partition,
            *c.step_time,  c.lower_bound,      c.mfu,       c.free,     c.place};
  }

  void rank() {
    std::vector<RankedPlan>& all = result_.ranked;
    for (const Candidate& c : candidates_)
      if (c.step_time) all.push_back(ranked(c));
    std::stable_sort(all.begin(), all.end(),
                     [](const RankedPlan& a, const RankedPlan& b) { return a.step_time < b.step_time; });
    const std::size_t shown = std::max(options_.top, result_.ties());
    if (all.size() > shown) all.resize(shown);
  }

  // The fastest plan of every place; what is ruled out among all plans may be the best of its place.
  void compare_places() {
    std::map<std::string, std::vector<Candidate*>> places;
    for (Candidate& c : candidates_) places[c.place.name()].push_back(&c);
    if (places.size() < 2 || !scenario_.model.has_moe()) return;
    for (const auto& place : places) {
      const std::vector<Candidate*>& line = place.second;
      const Candidate* best = nullptr;
      const auto look = [&] {
        for (const Candidate* c : line)
          if (c->step_time && (best == nullptr || *c->step_time < *best->step_time)) best = c;
        return best == nullptr ? Duration::max() : *best->step_time;
      };
      simulate_in_order(line, kPlaceBatch, look);
      if (look() < Duration::max()) result_.of_places.push_back(ranked(*best));
    }
    std::stable_sort(result_.of_places.begin(), result_.of_places.end(),
                     [](const RankedPlan& a, const RankedPlan& b) { return a.step_time < b.step_time; });
  }

  void count() {
    SearchCounts& n = result_.counts;
    const Duration limit = cut();
    for (const Candidate& c : candidates_) {
      ++(c.tried ? n.simulated : c.lower_bound <= limit ? n.not_reached : n.bounded);
      if (c.tried && c.covered && !c.step_time) ++n.too_hot;
    }
    if (result_.ranked.empty() && n.too_hot > 0 && n.too_hot == n.simulated) throw InfeasiblePlan(all_too_hot(n));
  }

  void explain() {
    if (result_.ranked.empty()) return;
    RankedPlan& best = result_.ranked.front();
    const auto c = std::find_if(candidates_.begin(), candidates_.end(),
                                [&](const Candidate& x) { return x.step_time && ranked(x) == best; });
    tighten(*c);
    best.lower_bound = c->lower_bound;
    const Scenario s = scenario_of(*c);
    result_.limits = limits_of(s, best, c->bound_of, simulate(s, {}));
    if (options_.explain) result_.what_ifs = what_ifs(s, s.partition, options_.threads);
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
