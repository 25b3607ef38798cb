#include "sim/planner/overlap/pair_cost.h"

namespace tessella {

PairCosts::PairCosts(const Scenario& scenario, const ModelOps& ops, const LayerTable& table, bool paired,
                     const PairRule& rule)
    : scenario_(scenario), table_(table), paired_(paired), chunks_(scenario, ops),
      pairs_(chunks_, rule.method, {}, rule.align) {}

Duration PairCosts::cost(const StageContent& forward, const StageContent& backward) {
  if (!paired_) return table_.stage(forward).forward.serial() + table_.stage(backward).backward().serial();
  ++lookups_;
  return pairs_.cost(chunk_spec(scenario_.model, forward), chunk_spec(scenario_.model, backward));
}

} // namespace tessella
