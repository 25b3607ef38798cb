// What an edge of the overlap graph costs: of a schedule that pairs, the post-overlap cost of the two chunks in the
// order that the simulator runs, by the scenario's overlap scheduler (sim/planner/overlap/cost_table.h); of one that
// does not, the serial sum.
#pragma once

#include <cstdint>
#include <map>

#include "sim/cost/layer_ops.h"
#include "sim/domain/plan.h"
#include "sim/domain/scenario.h"
#include "sim/planner/overlap/cost_table.h"
#include "sim/planner/overlap/pair_chunks.h"
#include "sim/planner/partition/layer_table.h"

namespace tessella {

// The scenario and the table must outlive it. Chunks with the same layer kinds are priced once. Not for several threads
// at once.
class PairCosts {
 public:
  PairCosts(const Scenario& scenario, const ModelOps& ops, const LayerTable& table, bool paired,
            const AlignRule& align = {});

  Duration cost(const StageContent& forward, const StageContent& backward);
  // The table of the pairs, to keep on disk; orders that the scenario gives are not in it.
  PairCostTable& table() { return pairs_; }
  std::int64_t distinct() const {
    return static_cast<std::int64_t>(pairs_.size() + given_.size());
  }                                                             // pairs that were priced
  std::int64_t cached() const { return lookups_ - distinct(); } // look-ups that priced nothing

 private:
  const Scenario& scenario_;
  const LayerTable& table_;
  bool paired_;
  ChunkLibrary chunks_;
  PairCostTable pairs_;
  std::map<ChunkPair, Duration> given_; // pairs that the scenario gives an order for
  std::int64_t lookups_ = 0;            // of pairs
};

} // namespace tessella
