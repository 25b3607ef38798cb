#include "sim/planner/overlap/pair_candidates.h"

#include <algorithm>
#include <map>

#include "sim/engine/parallel.h"

namespace tessella {

std::set<std::pair<std::int32_t, std::int32_t>> overlap_edges(const Schedule& schedule) {
  std::set<std::pair<std::int32_t, std::int32_t>> edges;
  for (const std::vector<Slot>& slots : schedule.ranks)
    for (const Slot& slot : slots)
      if (slot.second) edges.insert({slot.first.stage.value, slot.second->stage.value});
  return edges;
}

std::vector<ChunkSpec> candidate_chunks(const Model& model, const Partition& partition, std::size_t stage,
                                        std::int32_t radius) {
  const auto layers = static_cast<std::int32_t>(model.num_layers());
  const StageContent& now = partition.stages[stage];
  const std::int32_t first = now.first_layer;
  const std::int32_t end = first + now.num_layers;
  const bool first_moves = stage > 0;
  const bool end_moves = stage + 1 < partition.stages.size();
  std::set<ChunkSpec> found;
  for (std::int32_t a = first_moves ? std::max(0, first - radius) : first; a <= (first_moves ? first + radius : first);
       ++a)
    for (std::int32_t b = end_moves ? end - radius : end; b <= (end_moves ? std::min(layers, end + radius) : end);
         ++b) {
      if (b <= a) continue;
      StageContent content = now;
      content.first_layer = a;
      content.num_layers = b - a;
      found.insert(chunk_spec(model, content));
    }
  return {found.begin(), found.end()};
}

std::vector<ChunkPair> candidate_pairs(const Model& model, const Partition& partition, const Schedule& schedule,
                                       std::int32_t radius) {
  std::vector<std::vector<ChunkSpec>> candidates;
  for (std::size_t s = 0; s < partition.stages.size(); ++s)
    candidates.push_back(candidate_chunks(model, partition, s, radius));
  std::set<ChunkPair> pairs;
  for (const auto& [f, b] : overlap_edges(schedule))
    for (const ChunkSpec& forward : candidates[static_cast<std::size_t>(f)])
      for (const ChunkSpec& backward : candidates[static_cast<std::size_t>(b)]) pairs.insert({forward, backward});
  return {pairs.begin(), pairs.end()};
}

PairPlans plan_pairs(const ChunkLibrary& chunks, const Partition& partition, const Schedule& schedule,
                     const PairRule& rule, const SearchLimits& limits, unsigned threads) {
  const auto edges = overlap_edges(schedule);
  const auto pair_of = [&](const std::pair<std::int32_t, std::int32_t>& edge) {
    return ChunkPair{chunk_spec(chunks.model(), partition.stages[static_cast<std::size_t>(edge.first)]),
                     chunk_spec(chunks.model(), partition.stages[static_cast<std::size_t>(edge.second)])};
  };
  std::map<ChunkPair, std::size_t> index;
  for (const auto& edge : edges) index.emplace(pair_of(edge), 0);
  std::vector<ChunkPair> distinct;
  for (auto& [pair, at] : index) {
    at = distinct.size();
    distinct.push_back(pair);
  }
  std::vector<PairPlan> plans(distinct.size());
  parallel_for(distinct.size(), threads, [&](std::size_t i) {
    const ChunkPair& pair = distinct[i];
    plans[i] =
        schedule_pair(chunks.problem(pair.first, pair.second, pair.passes), rule.method, limits, rule.align).plan;
  });
  PairPlans result;
  for (const auto& edge : edges) result[edge] = plans[index.at(pair_of(edge))];
  return result;
}

} // namespace tessella
