#include "sim/planner/overlap/overlap_graph.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tessella {
namespace {

using StagePair = std::pair<std::int32_t, std::int32_t>; // forward, backward
using PairCounts = std::map<StagePair, std::int64_t>;

// Backward then forward, back to back on one rank: the steady state of schedules that pair nothing.
PairCounts count_neighbours(const Schedule& schedule, const std::vector<Slot>& slots) {
  PairCounts count;
  for (std::size_t i = 0; i + 1 < slots.size(); ++i) {
    const Action& a = slots[i].first;
    const Action& b = slots[i + 1].first;
    if (schedule.is_shadow(a.micro_batch) || schedule.is_shadow(b.micro_batch)) continue;
    if (a.kind == ActionKind::F && (b.kind == ActionKind::B || b.kind == ActionKind::I))
      ++count[{a.stage.value, b.stage.value}];
  }
  return count;
}

PairCounts count_pairs(const Schedule& schedule, const std::vector<Slot>& slots) {
  PairCounts count;
  for (const Slot& slot : slots)
    if (slot.second && !schedule.is_shadow(slot.first.micro_batch) && !schedule.is_shadow(slot.second->micro_batch))
      ++count[{slot.first.stage.value, slot.second->stage.value}];
  return count;
}

std::vector<std::int32_t> stages_of_rank(const Schedule& schedule, std::size_t rank) {
  std::vector<std::int32_t> held;
  for (std::size_t s = 0; s < schedule.stage_ranks.size(); ++s)
    for (const PpRank r : schedule.stage_ranks[s])
      if (static_cast<std::size_t>(r.value) == rank) held.push_back(static_cast<std::int32_t>(s));
  return held;
}

bool any_empty(const Partition& partition) {
  return std::any_of(partition.stages.begin(), partition.stages.end(),
                     [](const StageContent& s) { return s.num_layers == 0; });
}

PartitionProblem::Limit limit_of(const LiveVector& live, const std::vector<std::vector<StageBytes>>& bytes, Bytes cap) {
  PartitionProblem::Limit limit;
  limit.cap = cap;
  for (const LiveStage& s : live) {
    limit.stages.push_back(s.stage);
    std::vector<Bytes>& load = limit.load.emplace_back();
    for (const StageBytes& b : bytes[static_cast<std::size_t>(s.stage)])
      load.push_back(b.state + b.kept * s.kept + b.loss * s.loss);
  }
  return limit;
}

} // namespace

OverlapGraph overlap_graph(const Schedule& schedule) {
  OverlapGraph graph;
  graph.num_stages = schedule.num_stages;
  std::vector<PairCounts> of_rank;
  for (const std::vector<Slot>& slots : schedule.ranks) {
    of_rank.push_back(count_pairs(schedule, slots));
    graph.paired = graph.paired || !of_rank.back().empty();
  }
  if (!graph.paired)
    for (std::size_t r = 0; r < of_rank.size(); ++r) of_rank[r] = count_neighbours(schedule, schedule.ranks[r]);
  PairCounts all;
  for (const PairCounts& rank : of_rank)
    for (const auto& [stages, n] : rank) all[stages] += n;
  std::map<StagePair, std::int32_t> index;
  for (const auto& [stages, n] : all) {
    index[stages] = static_cast<std::int32_t>(graph.edges.size());
    graph.edges.push_back({stages.first, stages.second, n});
  }
  for (std::size_t r = 0; r < of_rank.size(); ++r) {
    OverlapRank& rank = graph.ranks.emplace_back(OverlapRank{stages_of_rank(schedule, r), {}});
    for (const auto& [stages, n] : of_rank[r]) rank.runs.push_back({index.at(stages), n});
  }
  return graph;
}

std::vector<std::vector<StageContent>> candidates_around(const Partition& baseline, std::int32_t radius) {
  const auto& stages = baseline.stages;
  const std::int32_t least = any_empty(baseline) ? 0 : 1;
  const std::int32_t total = stages.back().first_layer + stages.back().num_layers;
  std::vector<std::vector<StageContent>> all(stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const std::int32_t first = stages[s].first_layer;
    const std::int32_t end = first + stages[s].num_layers;
    const bool last = s + 1 == stages.size();
    for (std::int32_t i = s == 0 ? 0 : std::max(0, first - radius); i <= (s == 0 ? 0 : first + radius); ++i)
      for (std::int32_t j = std::max(i + least, last ? total : end - radius);
           j <= (last ? total : std::min(total, end + radius)); ++j) {
        StageContent c = stages[s];
        c.first_layer = i;
        c.num_layers = j - i;
        all[s].push_back(c);
      }
  }
  return all;
}

Duration bottleneck(const OverlapGraph& graph, const Partition& partition, const EdgeCost& cost) {
  Duration worst;
  for (const OverlapEdge& e : graph.edges)
    worst = max(worst, cost(partition.stages[static_cast<std::size_t>(e.forward_stage)],
                            partition.stages[static_cast<std::size_t>(e.backward_stage)]));
  return worst;
}

Duration rank_sum(const OverlapGraph& graph, const Partition& partition, const EdgeCost& cost) {
  Duration worst;
  for (const OverlapRank& rank : graph.ranks) {
    Duration sum;
    for (const OverlapRank::Run& run : rank.runs) {
      const OverlapEdge& e = graph.edges[static_cast<std::size_t>(run.edge)];
      sum += cost(partition.stages[static_cast<std::size_t>(e.forward_stage)],
                  partition.stages[static_cast<std::size_t>(e.backward_stage)]) *
             run.count;
    }
    worst = max(worst, sum);
  }
  return worst;
}

std::int64_t PartitionProblem::variables() const {
  std::int64_t n = 0;
  for (const auto& stage : candidates) n += static_cast<std::int64_t>(stage.size());
  for (const Edge& e : edges)
    n += std::count_if(e.cost.begin(), e.cost.end(), [](Duration d) { return d != Duration::max(); });
  return n;
}

PartitionProblem partition_problem(const OverlapGraph& graph, std::vector<std::vector<StageContent>> candidates,
                                   const EdgeCost& cost, const StageMemory* memory) {
  PartitionProblem problem;
  problem.candidates = std::move(candidates);
  problem.ranks = graph.ranks;
  for (const OverlapEdge& e : graph.edges) {
    PartitionProblem::Edge edge{e.forward_stage, e.backward_stage, {}};
    for (const StageContent& f : problem.candidates[static_cast<std::size_t>(e.forward_stage)]) {
      if (e.forward_stage == e.backward_stage) {
        edge.cost.push_back(cost(f, f));
        continue;
      }
      for (const StageContent& b : problem.candidates[static_cast<std::size_t>(e.backward_stage)])
        edge.cost.push_back(cost(f, b));
    }
    problem.edges.push_back(std::move(edge));
  }
  if (memory == nullptr) return problem;
  std::vector<std::vector<StageBytes>> bytes;
  for (const auto& stage : problem.candidates) {
    bytes.emplace_back();
    for (const StageContent& c : stage) bytes.back().push_back(memory->of(c));
  }
  for (const std::vector<LiveVector>& rank : memory->live())
    for (const LiveVector& live : rank) problem.limits.push_back(limit_of(live, bytes, memory->budget()));
  return problem;
}

} // namespace tessella
