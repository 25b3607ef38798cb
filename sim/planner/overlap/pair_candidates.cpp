#include "sim/planner/overlap/pair_candidates.h"

#include <algorithm>

namespace tessella {

std::set<std::pair<std::int32_t, std::int32_t>> overlap_edges(const Schedule& schedule) {
  std::set<std::pair<std::int32_t, std::int32_t>> edges;
  for (const std::vector<Slot>& slots : schedule.ranks)
    for (const Slot& slot : slots)
      if (slot.second && slot.second->kind == ActionKind::B)
        edges.insert({slot.first.stage.value, slot.second->stage.value});
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

} // namespace tessella
