// What co-scheduled chunks cost: the makespan of the template that would run (sim/exec/pair_order.h) on one rank at
// balanced load, contention included. Chunks with the same layer kinds cost the same, so each distinct pair is timed
// once. A schedule that pairs nothing gets the serial sum.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/cost/layer_ops.h"
#include "sim/domain/plan.h"
#include "sim/domain/scenario.h"
#include "sim/exec/pieces.h"
#include "sim/exec/program.h"
#include "sim/planner/layer_table.h"

namespace tessella {

// The scenario, its ops and the table must outlive it. Not for several threads at once.
class PairCosts {
 public:
  PairCosts(const Scenario& scenario, const ModelOps& ops, const LayerTable& table, bool paired);

  Duration cost(const StageContent& forward, const StageContent& backward);
  std::int64_t distinct() const { return static_cast<std::int64_t>(known_.size()); }
  std::int64_t cached() const { return lookups_ - distinct(); } // look-ups that timed nothing

 private:
  std::size_t chunk_of(const StageContent& content);
  Duration time(std::size_t forward, std::size_t backward) const;

  const Scenario& scenario_;
  const LayerTable& table_;
  bool paired_;
  Program program_; // op names and load curves of the pieces
  PieceTable pieces_;
  std::map<std::vector<std::int32_t>, std::size_t> chunks_; // layer kinds, then MTP, embedding, loss
  std::vector<std::vector<PieceOps>> chunk_pieces_;
  std::vector<PieceTimes> chunk_times_;
  std::map<std::pair<std::size_t, std::size_t>, Duration> known_;
  std::int64_t lookups_ = 0;
};

// One rank runs a template at balanced load: both lanes in order, each op as early as it can. O(ops).
Duration template_makespan(const Template& t);

} // namespace tessella
