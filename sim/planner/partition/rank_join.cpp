#include "sim/planner/partition/rank_join.h"

#include <unordered_map>

namespace tessella {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

} // namespace

RankJoin::RankJoin(const PartitionProblem& problem, const std::vector<RankColumns>& ranks, const OtherRanks* others)
    : problem_(problem), ranks_(ranks), others_(others), last_use_(problem.candidates.size() + 1, 0),
      rank_of_(problem.candidates.size(), 0) {
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (const std::int32_t s : ranks[r].stages()) {
      last_use_[at(s)] = last_use_[at(s) + 1] = r;
      rank_of_[at(s)] = r;
    }
}

std::optional<std::vector<std::int32_t>> RankJoin::run(const std::vector<std::vector<RankColumn>>& columns,
                                                       Duration threshold, bool by_squares, std::int64_t& nodes_left) {
  by_squares_ = by_squares;
  threshold_ = threshold;
  levels_.assign(1, {State{}});
  open_.clear();
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Meeting m = meeting(r);
    if (!expand(columns[r], by_places(r, columns[r], m), m, nodes_left)) return std::nullopt;
    open_ = std::move(m.open);
  }
  return unwind(columns);
}

// The boundaries of a rank's stages, ascending, once each.
std::vector<std::size_t> RankJoin::boundaries(std::size_t rank) const {
  std::vector<std::size_t> all;
  for (const std::int32_t s : ranks_[rank].stages())
    for (const std::size_t b : {at(s), at(s) + 1})
      if (all.empty() || all.back() != b) all.push_back(b);
  return all;
}

char32_t RankJoin::place(std::size_t rank, const RankColumn& column, std::size_t boundary) const {
  const auto& stages = ranks_[rank].stages();
  for (std::size_t k = 0; k < stages.size(); ++k) {
    const StageContent& c = problem_.candidates[at(stages[k])][at(column.choice[k])];
    if (at(stages[k]) == boundary) return static_cast<char32_t>(c.first_layer);
    if (at(stages[k]) + 1 == boundary) return static_cast<char32_t>(c.first_layer + c.num_layers);
  }
  return 0;
}

double RankJoin::grown(double value, Duration sum) const {
  return by_squares_ ? value + sum.seconds() * sum.seconds() : std::max(value, static_cast<double>(sum.ps));
}

RankJoin::Meeting RankJoin::meeting(std::size_t rank) const {
  const std::vector<std::size_t> own = boundaries(rank);
  Meeting m;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (std::binary_search(own.begin(), own.end(), open_[i])) {
      m.shared_at.push_back(i);
      m.shared.push_back(open_[i]);
    }
    if (last_use_[open_[i]] <= rank) continue;
    m.kept_at.push_back(i);
    m.open.push_back(open_[i]);
  }
  for (const std::size_t b : own)
    if (last_use_[b] > rank && std::find(open_.begin(), open_.end(), b) == open_.end()) m.added.push_back(b);
  m.open.insert(m.open.end(), m.added.begin(), m.added.end());
  m.rests = rests_after(rank, m.open);
  const auto left = static_cast<std::int64_t>(ranks_.size() - 1 - rank);
  const bool huge = left > 0 && threshold_.ps > OtherRanks::kNever / left;
  m.most = huge ? OtherRanks::kNever - 1 : threshold_.ps * left;
  return m;
}

std::vector<RankJoin::Rest> RankJoin::rests_after(std::size_t rank, const std::vector<std::size_t>& open) const {
  std::vector<Rest> rests;
  if (others_ == nullptr) return rests;
  const auto position = [&](std::size_t boundary) -> std::optional<std::size_t> {
    const auto found = std::find(open.begin(), open.end(), boundary);
    if (found == open.end()) return std::nullopt;
    return static_cast<std::size_t>(found - open.begin());
  };
  for (std::size_t s = 0; s < rank_of_.size();) {
    if (rank_of_[s] <= rank) {
      ++s;
      continue;
    }
    std::size_t end = s + 1;
    while (end < rank_of_.size() && rank_of_[end] > rank) ++end;
    rests.push_back({position(s), position(end), others_->through(s, end)});
    s = end;
  }
  return rests;
}

// What the ranks still to join pay at least, together.
std::int64_t RankJoin::rest_of(const Places& places, const std::vector<Rest>& rests) const {
  std::int64_t sum = 0;
  for (const Rest& r : rests) {
    const std::size_t from = r.before ? places[*r.before] : 0;
    const std::size_t to = r.after ? places[*r.after] : others_->layers();
    const std::int64_t cost = r.cost[from * (others_->layers() + 1) + to];
    if (cost >= OtherRanks::kNever) return OtherRanks::kNever;
    sum += cost;
  }
  return sum;
}

RankJoin::ByPlaces RankJoin::by_places(std::size_t rank, const std::vector<RankColumn>& columns,
                                       const Meeting& m) const {
  ByPlaces all;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    Places key, fresh;
    for (const std::size_t b : m.shared) key += place(rank, columns[c], b);
    for (const std::size_t b : m.added) fresh += place(rank, columns[c], b);
    const auto found = all[key].try_emplace(fresh, c);
    if (!found.second && columns[c].sum < columns[found.first->second].sum) found.first->second = c;
  }
  return all;
}

bool RankJoin::expand(const std::vector<RankColumn>& columns, const ByPlaces& by_shared, const Meeting& m,
                      std::int64_t& nodes_left) {
  std::vector<State> next;
  std::unordered_map<Places, std::size_t> known;
  for (std::size_t i = 0; i < levels_.back().size(); ++i) {
    const State& s = levels_.back()[i];
    Places key, kept;
    for (const std::size_t p : m.shared_at) key += s.places[p];
    for (const std::size_t p : m.kept_at) kept += s.places[p];
    const auto matching = by_shared.find(key);
    if (matching == by_shared.end()) continue;
    for (const auto& [fresh, column] : matching->second) {
      if (nodes_left == 0) return false;
      --nodes_left;
      State reached{kept + fresh, grown(s.value, columns[column].sum), i, column};
      if (rest_of(reached.places, m.rests) > m.most) continue;
      const auto found = known.try_emplace(reached.places, next.size());
      if (found.second)
        next.push_back(std::move(reached));
      else if (reached.value < next[found.first->second].value)
        next[found.first->second] = std::move(reached);
    }
  }
  levels_.push_back(std::move(next));
  return !levels_.back().empty();
}

std::vector<std::int32_t> RankJoin::unwind(const std::vector<std::vector<RankColumn>>& columns) const {
  std::vector<std::int32_t> choice(problem_.candidates.size(), 0);
  std::size_t state = 0; // after the last rank no boundary is open: one state
  for (std::size_t r = ranks_.size(); r-- > 0;) {
    const State& s = levels_[r + 1][state];
    const auto& stages = ranks_[r].stages();
    for (std::size_t k = 0; k < stages.size(); ++k) choice[at(stages[k])] = columns[r][s.column].choice[k];
    state = s.before;
  }
  return choice;
}

} // namespace tessella
