#include "sim/planner/partition/rank_others.h"

#include <algorithm>

namespace tessella {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

std::size_t first(const StageContent& c) {
  return at(c.first_layer);
}
std::size_t end(const StageContent& c) {
  return at(c.first_layer + c.num_layers);
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return a >= OtherRanks::kNever || b >= OtherRanks::kNever ? OtherRanks::kNever : a + b;
}

} // namespace

OtherRanks::OtherRanks(const PartitionProblem& problem, const std::vector<std::int32_t>& reference)
    : problem_(problem) {
  for (const auto& stage : problem.candidates) {
    share_.emplace_back(stage.size(), 0);
    for (const StageContent& c : stage) layers_ = std::max(layers_, end(c));
  }
  for (const OverlapRank& rank : problem.ranks)
    for (const OverlapRank::Run& run : rank.runs) {
      const PartitionProblem::Edge& e = problem.edges[at(run.edge)];
      const std::size_t f = at(e.forward_stage), b = at(e.backward_stage);
      const std::size_t n = share_[f].size(), width = share_[b].size();
      if (f == b) {
        for (std::size_t c = 0; c < n; ++c)
          share_[f][c] = sum(share_[f][c], e.cost[c] == Duration::max() ? kNever : e.cost[c].ps * run.count);
        continue;
      }
      // The backward's share: what it costs beside the reference forward, less half of the reference pair. The
      // forward's: what is left of its cheapest pair.
      const std::size_t c0 = at(reference[f]);
      const std::int64_t half =
          e.cost[c0 * width + at(reference[b])] == Duration::max() ? 0 : e.cost[c0 * width + at(reference[b])].ps / 2;
      std::vector<std::int64_t> of_backward(width, 0);
      for (std::size_t d = 0; d < width; ++d)
        if (e.cost[c0 * width + d] != Duration::max()) of_backward[d] = e.cost[c0 * width + d].ps - half;
      for (std::size_t c = 0; c < n; ++c) {
        std::int64_t least = kNever;
        for (std::size_t d = 0; d < width; ++d)
          if (e.cost[c * width + d] != Duration::max())
            least = std::min(least, e.cost[c * width + d].ps - of_backward[d]);
        share_[f][c] = least == kNever ? kNever : sum(share_[f][c], least * run.count);
      }
      for (std::size_t d = 0; d < width; ++d) share_[b][d] = sum(share_[b][d], of_backward[d] * run.count);
    }
}

OtherRanks::Places OtherRanks::step(std::size_t stage, const Places& from) const {
  Places to(layers_ + 1, kNever);
  const auto& all = problem_.candidates[stage];
  for (std::size_t c = 0; c < all.size(); ++c)
    to[end(all[c])] = std::min(to[end(all[c])], sum(from[first(all[c])], share_[stage][c]));
  return to;
}

OtherRanks::Places OtherRanks::start() const {
  Places places(layers_ + 1, kNever);
  places[0] = 0;
  return places;
}

std::int64_t OtherRanks::total() const {
  Places places = start();
  for (std::size_t s = 0; s < share_.size(); ++s) places = step(s, places);
  return places[layers_];
}

std::vector<std::int64_t> OtherRanks::through(std::size_t first_stage, std::size_t end_stage) const {
  std::vector<std::int64_t> table((layers_ + 1) * (layers_ + 1), kNever);
  std::vector<char> begins(layers_ + 1, 0);
  for (const StageContent& c : problem_.candidates[first_stage]) begins[first(c)] = 1;
  for (std::size_t place = 0; place <= layers_; ++place) {
    if (begins[place] == 0) continue;
    Places places(layers_ + 1, kNever);
    places[place] = 0;
    for (std::size_t s = first_stage; s < end_stage; ++s) places = step(s, places);
    std::copy(places.begin(), places.end(), table.begin() + static_cast<std::ptrdiff_t>(place * (layers_ + 1)));
  }
  return table;
}

OtherRanks::Gaps OtherRanks::gaps(const std::vector<std::int32_t>& stages) const {
  Gaps gaps;
  for (std::size_t k = 0; k < stages.size(); ++k) {
    const auto& own = problem_.candidates[at(stages[k])];
    const std::size_t from = k == 0 ? 0 : at(stages[k - 1]) + 1;
    std::vector<std::int64_t>& table = gaps.between.emplace_back();
    const std::size_t rows = k == 0 ? 1 : problem_.candidates[at(stages[k - 1])].size();
    for (std::size_t row = 0; row < rows; ++row) {
      Places places = start();
      if (k > 0) {
        places[0] = kNever;
        places[end(problem_.candidates[at(stages[k - 1])][row])] = 0;
      }
      for (std::size_t s = from; s < at(stages[k]); ++s) places = step(s, places);
      for (const StageContent& c : own) table.push_back(places[first(c)]);
    }
  }
  gaps.after.resize(stages.size());
  for (std::size_t k = stages.size(); k-- > 0;) {
    const auto& own = problem_.candidates[at(stages[k])];
    for (std::size_t c = 0; c < own.size(); ++c) {
      std::int64_t least = kNever;
      if (k + 1 < stages.size()) {
        const std::size_t width = gaps.after[k + 1].size();
        for (std::size_t d = 0; d < width; ++d)
          least = std::min(least, sum(gaps.between[k + 1][c * width + d], gaps.after[k + 1][d]));
      } else {
        Places places(layers_ + 1, kNever);
        places[end(own[c])] = 0;
        for (std::size_t s = at(stages[k]) + 1; s < share_.size(); ++s) places = step(s, places);
        least = places[layers_];
      }
      gaps.after[k].push_back(least);
    }
  }
  return gaps;
}

} // namespace tessella
