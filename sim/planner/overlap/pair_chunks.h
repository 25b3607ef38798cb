// Chunks by what they hold, and the pairs they make: from the costs of layers to the problem an overlap scheduler
// solves. Costs are taken at balanced load.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/cost/layer_ops.h"
#include "sim/domain/plan.h"
#include "sim/domain/scenario.h"
#include "sim/planner/overlap/pair_problem.h"

namespace tessella {

// What a stage holds, without where in the model: stages with equal specs cost the same.
struct ChunkSpec {
  std::vector<std::int32_t> kinds; // of its decoder layers, indices into Model::kinds
  std::int32_t mtp_layers = 0;
  bool embedding = false;
  bool head = false;
  auto operator<=>(const ChunkSpec&) const = default;
};

ChunkSpec chunk_spec(const Model& model, const StageContent& stage);

// "embedding+3*gdn_moe+full_moe+2*mtp+head", by layer kind and in order; "empty" for a stage without anything.
std::string to_text(const ChunkSpec& spec, const Model& model);

// The lowered pieces of every chunk a scenario can have.
class ChunkLibrary {
 public:
  // Takes what it needs. The scenario's delay_wgrad_compute decides whether weight gradients are movable. O(kinds *
  // ops).
  ChunkLibrary(const Scenario& scenario, const ModelOps& ops);

  // In forward order, with fixed durations. O(pieces * ops).
  std::vector<PieceOps> pieces(const ChunkSpec& spec) const;
  PairTasks tasks(const ChunkSpec& first, const ChunkSpec& second, const PairPasses& passes) const;
  PairProblem problem(const ChunkSpec& first, const ChunkSpec& second, const PairPasses& passes) const;
  // One pass of a chunk with the GPU to itself; B with its weight gradients.
  Duration alone(const ChunkSpec& spec, ActionKind pass) const;

  const Model& model() const { return model_; }
  // Everything the costs of pairs depend on, as text: two libraries with equal text give equal costs.
  std::string text() const;
  // The groups of ranks whose exchanges are in the costs, "tp=1 cp=1 ep=32 etp=1 on h100_rail_256".
  const std::string& topology_class() const { return topology_class_; }

 private:
  Model model_;
  bool delay_wgrad_ = false;
  std::string topology_class_;
  std::vector<PieceOps> kinds_; // [kind], empty for kinds that no layer has
  PieceOps embedding_;
  PieceOps head_;
  std::vector<PieceOps> mtp_; // of one MTP layer
};

} // namespace tessella
