// What the closed loop executes: a mixture-of-experts transformer small enough for a few CPU cores, and plans to run a
// step of it. The same values become the model, topology and experiment files that the simulator reads, so that both
// speak of the same thing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calib/host/kernels.h"
#include "sim/domain/model.h"

namespace tessella::calib {

struct LoopModel {
  std::int64_t hidden = 128;
  std::int64_t heads = 2;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 64;
  std::int64_t experts = 4;
  std::int64_t topk = 2;
  std::int64_t expert_ffn = 128;
  std::int64_t vocab = 256;
  std::int64_t layers = 4;
  std::int64_t seq = 128; // a micro-batch is one sequence
  bool operator==(const LoopModel&) const = default;

  AttentionDims attention() const { return {heads, kv_heads, head_dim, seq}; }
};

// The model as the simulator knows it.
Model to_model(const LoopModel& m);

struct LoopPlan {
  std::string name;
  std::string schedule = "1f1b"; // gpipe, 1f1b or interleaved_1f1b
  int pp = 1;
  int ep = 1; // ranks of a group; each has its own tokens (data parallel) and its share of the experts
  int micro_batches = 1;
  std::vector<int> layers;   // per stage; stages = pp * virtual stages, stage s on pipeline rank s % pp
  std::vector<double> loads; // per EP rank, relative; empty: balanced
  bool operator==(const LoopPlan&) const = default;

  int stages() const { return static_cast<int>(layers.size()); }
  int vpp() const { return stages() / pp; }
  int world() const { return pp * ep; }
};

// The plans of `tessella-calib validate`: schedules x micro-batches x imbalance of stages or experts, at most `ranks`
// threads each. At 2 ranks there are eight.
std::vector<LoopPlan> default_plans(const LoopModel& m, int ranks);

// Megatron's layout of the plan: "Et|ttt|...L".
std::string layout_text(const LoopPlan& plan);

// Experts of every (token, slot) of one EP rank's micro-batch, so that EP rank e receives loads[e] of the rows: the
// same number for every micro-batch, as even inside a rank as possible. [seq * topk]; a token never has the same expert
// twice. Throws InputError when the loads do not allow that.
std::vector<std::int32_t> forced_experts(const LoopModel& m, const LoopPlan& plan);

// Rows that EP rank e receives of one micro-batch of the whole group.
std::vector<std::int64_t> received_rows(const LoopModel& m, const LoopPlan& plan);

} // namespace tessella::calib
