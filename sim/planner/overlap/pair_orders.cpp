#include "sim/planner/overlap/pair_orders.h"

#include <algorithm>
#include <map>

#include "sim/base/check.h"
#include "sim/base/sha256.h"
#include "sim/engine/parallel.h"
#include "sim/planner/overlap/pair_candidates.h"

namespace tessella {
namespace {

// The pairs of a schedule, each distinct one once.
struct DistinctPairs {
  std::vector<ChunkPair> pairs; // ascending
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> of_edge;
};

DistinctPairs distinct_pairs(const ChunkLibrary& chunks, const Partition& partition, const Schedule& schedule) {
  const auto spec = [&](std::int32_t stage) {
    return chunk_spec(chunks.model(), partition.stages[static_cast<std::size_t>(stage)]);
  };
  std::map<ChunkPair, std::vector<std::pair<std::int32_t, std::int32_t>>> edges;
  for (const auto& [f, b] : overlap_edges(schedule)) edges[{spec(f), spec(b)}].emplace_back(f, b);
  DistinctPairs distinct;
  for (const auto& [pair, where] : edges) {
    for (const auto& edge : where) distinct.of_edge[edge] = distinct.pairs.size();
    distinct.pairs.push_back(pair);
  }
  return distinct;
}

bool is_for(const PairOrder& order, const ChunkPair& pair, const Model& model) {
  if (order.plan.passes != pair.passes) return false;
  return (order.first.empty() || order.first == to_text(pair.first, model)) &&
         (order.second.empty() || order.second == to_text(pair.second, model));
}

bool is_named(const PairOrder& order) {
  return !order.first.empty() && !order.second.empty();
}

std::vector<PairTask> tasks_of(const ChunkLibrary& chunks, const ChunkPair& pair) {
  return chunks.tasks(pair.first, pair.second, pair.passes).tasks;
}

} // namespace

const PairOrder* given_order(const OverlapSpec& overlap, const ChunkLibrary& chunks, const ChunkPair& pair) {
  for (auto order = overlap.orders.rbegin(); order != overlap.orders.rend(); ++order) {
    if (!is_for(*order, pair, chunks.model())) continue;
    if (is_named(*order) || !order_problem(tasks_of(chunks, pair), order->plan)) return &*order;
  }
  return nullptr;
}

std::optional<GivenOrderProblem> check_given_orders(const OverlapSpec& overlap, const ChunkLibrary& chunks,
                                                    const Partition& partition, const Schedule& schedule) {
  const DistinctPairs distinct = distinct_pairs(chunks, partition, schedule);
  for (std::size_t i = 0; i < overlap.orders.size(); ++i) {
    const PairOrder& order = overlap.orders[i];
    std::optional<OrderProblem> first;
    bool fits = false;
    for (const ChunkPair& pair : distinct.pairs) {
      if (!is_for(order, pair, chunks.model())) continue;
      const auto problem = order_problem(tasks_of(chunks, pair), order.plan);
      fits |= !problem;
      if (!first) first = problem;
    }
    if (first && (is_named(order) || !fits)) return GivenOrderProblem{i, *first};
  }
  return std::nullopt;
}

StepPairs order_pairs(const OverlapSpec& overlap, const ChunkLibrary& chunks, const Partition& partition,
                      const Schedule& schedule, unsigned threads, const AlignRule& align) {
  const auto method = parse_overlap_method(overlap.scheduler);
  TSL_CHECK(method.has_value());
  const DistinctPairs distinct = distinct_pairs(chunks, partition, schedule);
  std::vector<PairResult> results(distinct.pairs.size());
  std::vector<const PairOrder*> given(distinct.pairs.size());
  parallel_for(distinct.pairs.size(), threads, [&](std::size_t i) {
    const ChunkPair& pair = distinct.pairs[i];
    const PairProblem problem = chunks.problem(pair.first, pair.second, pair.passes);
    given[i] = given_order(overlap, chunks, pair);
    results[i] =
        given[i] == nullptr ? schedule_pair(problem, *method, {}, align) : cost_of_order(problem, given[i]->plan);
  });
  StepPairs step;
  step.use = {overlap.scheduler, overlap.source, static_cast<std::int64_t>(results.size()), 0, 0.0};
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ChunkPair& pair = distinct.pairs[i];
    step.orders.push_back({to_text(pair.first, chunks.model()), to_text(pair.second, chunks.model()), results[i].plan,
                           results[i].post_overlap});
    step.use.given += given[i] == nullptr ? 0 : 1;
    step.use.worst_gap = std::max(step.use.worst_gap, results[i].gap());
  }
  for (const auto& [edge, i] : distinct.of_edge) step.plans[edge] = results[i].plan;
  return step;
}

std::string costs_hash(const ChunkLibrary& chunks) {
  return sha256_hex(chunks.text());
}

} // namespace tessella
