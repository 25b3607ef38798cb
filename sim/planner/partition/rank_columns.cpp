#include "sim/planner/partition/rank_columns.h"

#include <algorithm>
#include <optional>

namespace tessella {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// Sums stay below Duration::max(): a forbidden pair alone ends the search.
Duration times(Duration cost, std::int64_t count) {
  return cost == Duration::max() ? cost : cost * count;
}
Duration plus(Duration a, Duration b) {
  return a == Duration::max() || b == Duration::max() ? Duration::max() : a + b;
}

} // namespace

RankColumns::RankColumns(const PartitionProblem& problem, std::size_t rank, const OtherRanks* others)
    : problem_(problem), stages_(problem.ranks[rank].stages) {
  for (const OverlapRank::Run& run : problem.ranks[rank].runs) add_term(run);
  for (std::size_t l = 0; l < problem.limits.size(); ++l)
    if (problem.limits[l].stages == stages_) add_limit(l);
  if (others != nullptr) gaps_ = others->gaps(stages_);
}

void RankColumns::add_term(const OverlapRank::Run& run) {
  const PartitionProblem::Edge& e = problem_.edges[at(run.edge)];
  const auto position = [&](std::int32_t stage) {
    return static_cast<std::size_t>(std::find(stages_.begin(), stages_.end(), stage) - stages_.begin());
  };
  Term term{&e, run.count, position(e.forward_stage), position(e.backward_stage), {}, Duration::max()};
  const std::size_t n = problem_.candidates[at(e.forward_stage)].size();
  const std::size_t width = problem_.candidates[at(e.backward_stage)].size();
  if (term.forward != term.backward) {
    term.least_from[0].assign(n, Duration::max());
    term.least_from[1].assign(width, Duration::max());
    for (std::size_t c = 0; c < n; ++c)
      for (std::size_t d = 0; d < width; ++d) {
        const Duration cost = times(e.cost[c * width + d], run.count);
        term.least_from[0][c] = min(term.least_from[0][c], cost);
        term.least_from[1][d] = min(term.least_from[1][d], cost);
      }
  }
  for (const Duration cost : e.cost) term.least = min(term.least, times(cost, run.count));
  terms_.push_back(std::move(term));
}

void RankColumns::add_limit(std::size_t limit) {
  const PartitionProblem::Limit& l = problem_.limits[limit];
  Bound bound{limit, {}, std::vector<Bytes>(stages_.size() + 1)};
  for (std::size_t k = stages_.size(); k-- > 0;)
    bound.least_after[k] = bound.least_after[k + 1] +
                           (l.load[k].empty() ? Bytes{} : *std::min_element(l.load[k].begin(), l.load[k].end()));
  limits_.push_back(std::move(bound));
}

// What the edges cost whose later stage was chosen last.
Duration RankColumns::paid_at(const std::vector<std::int32_t>& choice) const {
  const std::size_t depth = choice.size() - 1;
  Duration sum;
  for (const Term& t : terms_) {
    if (t.last() != depth) continue;
    const std::size_t width = problem_.candidates[at(stages_[t.backward])].size();
    const std::size_t c = at(choice[t.forward]);
    sum = plus(sum, times(t.edge->cost[t.forward == t.backward ? c : c * width + at(choice[t.backward])], t.count));
  }
  return sum;
}

// What the other edges cost at least.
Duration RankColumns::open_after(const std::vector<std::int32_t>& choice) const {
  Duration sum;
  for (const Term& t : terms_) {
    if (t.last() < choice.size()) continue;
    if (t.first() >= choice.size())
      sum = plus(sum, t.least);
    else
      sum = plus(sum, t.forward < t.backward ? t.least_from[0][at(choice[t.forward])]
                                             : t.least_from[1][at(choice[t.backward])]);
  }
  return sum;
}

bool RankColumns::fits(const std::vector<std::int32_t>& choice) const {
  for (const Bound& b : limits_) {
    const PartitionProblem::Limit& l = problem_.limits[b.limit];
    Bytes sum = b.least_after[choice.size()];
    for (std::size_t k = 0; k < choice.size(); ++k) sum += l.load[k][at(choice[k])];
    if (sum > l.cap) return false;
  }
  return true;
}

// Does the stage chosen last meet the one before it, where this rank holds that too?
bool RankColumns::meets(const std::vector<std::int32_t>& choice) const {
  const std::size_t k = choice.size() - 1;
  if (k == 0 || stages_[k - 1] + 1 != stages_[k]) return true;
  const StageContent& left = problem_.candidates[at(stages_[k - 1])][at(choice[k - 1])];
  return left.first_layer + left.num_layers == problem_.candidates[at(stages_[k])][at(choice[k])].first_layer;
}

// What the stages between the last two chosen ones cost other ranks.
std::int64_t RankColumns::gap_before(const std::vector<std::int32_t>& choice) const {
  if (!gaps_) return 0;
  const std::size_t k = choice.size() - 1;
  const std::size_t width = problem_.candidates[at(stages_[k])].size();
  return gaps_->between[k][(k == 0 ? 0 : at(choice[k - 1]) * width) + at(choice[k])];
}

// `visit.most()` bounds the sums that are of interest and `visit.rest` those of the others, `visit(choice, sum)` takes
// a column.
template <class Visit>
void RankColumns::search(std::vector<std::int32_t>& choice, Duration paid, std::int64_t gaps, Visit& visit,
                         std::int64_t& nodes_left) const {
  const std::size_t k = choice.size();
  if (k == stages_.size()) {
    visit(choice, paid);
    return;
  }
  const std::size_t n = problem_.candidates[at(stages_[k])].size();
  for (std::size_t c = 0; c < n; ++c) {
    if (nodes_left == 0) return;
    --nodes_left;
    choice.push_back(static_cast<std::int32_t>(c));
    const std::int64_t left = gaps + gap_before(choice);
    if (left + (gaps_ ? gaps_->after[k][c] : 0) <= visit.rest && meets(choice) && fits(choice)) {
      const Duration sum = plus(paid, paid_at(choice));
      if (plus(sum, open_after(choice)) <= visit.most()) search(choice, sum, left, visit, nodes_left);
    }
    choice.pop_back();
  }
}

Duration RankColumns::least(std::int64_t& nodes_left) const {
  struct Least {
    Duration best = Duration::max();
    std::int64_t rest = OtherRanks::kNever - 1; // ranges must meet
    Duration most() const { return {best.ps - 1}; }
    void operator()(const std::vector<std::int32_t>&, Duration sum) { best = sum; }
  } visit;
  std::vector<std::int32_t> choice;
  search(choice, {}, 0, visit, nodes_left);
  if (nodes_left > 0) return visit.best;
  Duration floor;
  for (const Term& t : terms_) floor = plus(floor, t.least);
  return floor;
}

std::vector<RankColumn> RankColumns::upto(Duration threshold, std::int64_t rest, std::int64_t& nodes_left) const {
  struct Collect {
    Duration threshold;
    std::int64_t rest;
    std::vector<RankColumn> columns;
    Duration most() const { return threshold; }
    void operator()(const std::vector<std::int32_t>& choice, Duration sum) { columns.push_back({sum, choice}); }
  } visit{threshold, rest, {}};
  std::vector<std::int32_t> choice;
  search(choice, {}, 0, visit, nodes_left);
  return std::move(visit.columns);
}

} // namespace tessella
