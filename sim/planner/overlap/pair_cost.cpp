#include "sim/planner/overlap/pair_cost.h"

#include "sim/planner/overlap/pair_orders.h"

namespace tessella {

PairCosts::PairCosts(const Scenario& scenario, const ModelOps& ops, const LayerTable& table, bool paired,
                     const AlignRule& align)
    : scenario_(scenario), table_(table), paired_(paired), chunks_(scenario, ops),
      pairs_(chunks_, parse_overlap_method(scenario.overlap.scheduler).value(), {}, align) {}

Duration PairCosts::cost(const StageContent& forward, const StageContent& backward) {
  if (!paired_) return table_.stage(forward).forward.serial() + table_.stage(backward).backward().serial();
  ++lookups_;
  const ChunkPair pair{chunk_spec(scenario_.model, forward), chunk_spec(scenario_.model, backward)};
  if (scenario_.overlap.orders.empty()) return pairs_.at(pair).post_overlap;
  const auto known = given_.find(pair);
  if (known != given_.end()) return known->second;
  const PairOrder* order = given_order(scenario_.overlap, chunks_, pair);
  if (order == nullptr) return pairs_.at(pair).post_overlap;
  const PairProblem problem = chunks_.problem(pair.first, pair.second, pair.passes);
  return given_[pair] = cost_of_order(problem, order->plan).post_overlap;
}

} // namespace tessella
