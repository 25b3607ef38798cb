// A stage as a list of pieces: embedding, decoder layers, MTP blocks, head, each with its lowered op chains.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cost/layer_ops.h"
#include "sim/domain/plan.h"
#include "sim/domain/scenario.h"
#include "sim/exec/program.h"

namespace tessella {

enum class PieceKind : std::uint8_t { embedding, layer, mtp, head };

// The ops of one piece, lowered, with the role of each.
struct PieceOps {
  struct Item {
    Op op;
    Role role;
    Duration recomputed = {}; // the part of a backward op that recomputes, at balanced load
  };
  std::vector<Item> forward;
  std::vector<Item> backward;
  std::vector<Item> wgrad;
  PieceKind kind = PieceKind::layer;
};

// Lowers pieces into a program, sharing op names and load curves. All arguments must outlive it.
class PieceTable {
 public:
  PieceTable(const Scenario& scenario, const ModelOps& ops, Program& program);

  // In forward order. O(layers of the stage * ops).
  std::vector<PieceOps> pieces_of(const StageContent& content);

 private:
  PieceOps piece(const OpChain& chain, std::int32_t moe_layer, PieceKind kind = PieceKind::layer);
  Op op(const OpCost& cost, std::int32_t moe_layer);
  std::int32_t name(const std::string& text);
  std::int32_t curve(const LoadCurve& c);

  const Scenario& scenario_;
  const ModelOps& ops_;
  Program& program_;
  std::vector<std::int32_t> moe_ordinal_; // decoder layers, then MTP layers: index among the MoE layers
  std::vector<LoadCurve> curves_;
};

} // namespace tessella
