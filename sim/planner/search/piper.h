// Piper's analytic planner (arXiv 2605.05049), word for word: memory, all-to-all time and the search over (PP, EP) with
// its five constraints. A comparison mode; nothing else of Tessella uses these formulas.
//
// Kept as published, though inconsistent:
//   - b is the global batch. The expert activations are divided by EP and the attention activations are not, although
//     attention is data-parallel over the EP ranks. per_rank_tokens divides both.
//   - 16 bytes per parameter everywhere, whatever the optimizer shards; experts have three matrices.
//   - No embedding, head, router, shared expert, buffer or fragmentation.
// One "GPU" is one GCD. Source: science/piper, sections 3, 4 and 6 (formulas from secondary transcriptions).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/domain/model.h"

namespace tessella {

struct PiperModel {
  std::int64_t hidden_size = 0;     // d
  std::int64_t num_layers = 0;      // L
  std::int64_t num_experts = 1;     // E
  std::int64_t router_topk = 1;     // k
  std::int64_t ffn_hidden_size = 0; // d_ffn
  std::int64_t heads = 1;           // H
  std::int64_t seq_length = 1;      // s
  std::int64_t global_batch = 1;    // b, sequences
  bool operator==(const PiperModel&) const = default;
};

// What the formulas see of a model with experts, and the matrices of an expert: 3 with a gate, 2 without. The batch is
// left out. Nothing for a dense model.
struct PiperInputs {
  PiperModel model;
  std::int64_t expert_matrices = 3;
  bool operator==(const PiperInputs&) const = default;
};
std::optional<PiperInputs> piper_inputs(const Model& model, std::int64_t seq_length);

struct PiperCluster {
  std::int64_t gpus_per_node = 8;       // g
  std::int64_t nodes = 1;               // n
  std::int64_t nodes_in_single_hop = 4; // N_h
  double capacity_bytes = 64e9;         // C_GPU
  double nic_bytes_per_s = 25e9;        // B_NIC
  bool flash_attention = false;         // leaves the s^2 term out
  bool per_rank_tokens = false;         // our repair of the inconsistency
  bool operator==(const PiperCluster&) const = default;
};

struct PiperPlan {
  std::int64_t pp = 1;
  std::int64_t ep = 1;
  std::int64_t micro_batches = 1; // M
  bool operator==(const PiperPlan&) const = default;
};

// Bytes of one GPU on stage `stage` (0 .. PP-1) of 1F1B; stage 0 is the peak. PP = EP = M = 1 is the unsharded model.
double piper_memory(const PiperModel& model, const PiperCluster& cluster, const PiperPlan& plan, std::int64_t stage);
// Seconds of the dispatch and combine of one layer's forward pass for the whole batch, balanced, all NICs saturated.
double piper_all_to_all(const PiperModel& model, const PiperCluster& cluster, const PiperPlan& plan);

// The constraints in the paper's order; the index of the first one a plan breaks.
//   0 PP * EP = n * g    1 EP divides E    2 PP <= L    3 EP <= g * N_h    4 memory of stage 0 <= capacity
struct PiperSearch {
  std::array<std::int64_t, 5> left{}; // plans that satisfy constraints 0 .. i
  std::vector<PiperPlan> feasible;    // by PP
  bool operator==(const PiperSearch&) const = default;
};
// Stage 0 of one step. `rate` is what a GPU sustains on attention and expert GEMMs; nothing is hidden and P2P is free:
//   step = (1 + (PP-1)/M) (compute + all-to-all)
// Our stand-in: the paper's estimator equations are not published. Model FLOPs without recompute, causal attention.
struct PiperEstimate {
  double compute_s = 0.0;
  double all_to_all_s = 0.0; // forward and backward
  double step_s = 0.0;
  double flops_per_gpu = 0.0; // model FLOP/s
  bool operator==(const PiperEstimate&) const = default;
};
// `expert_matrices`: 3 for SwiGLU, 2 without a gate.
PiperEstimate piper_estimate(const PiperModel& model, const PiperCluster& cluster, const PiperPlan& plan, double rate,
                             std::int64_t expert_matrices);

// The rate at which the estimates of several measured runs are right in the geometric mean; one number for all.
struct PiperRun {
  PiperModel model;
  PiperCluster cluster;
  PiperPlan plan;
  std::int64_t expert_matrices = 3;
  double measured_flops_per_gpu = 0.0;
};
// At least one run. Returns at most the GPU's peak.
double fit_rate(std::span<const PiperRun> runs, double peak);

// Constraint 4 depends on b, and b on EP: the model with the batch that gives every EP rank `sequences` in each
// micro-batch at the widest EP that constraints 0 to 3 leave. O((n g)^2).
PiperModel with_widest_batch(PiperModel model, const PiperCluster& cluster, std::int64_t micro_batches,
                             std::int64_t sequences);

// All (PP, EP) with 1 <= PP, EP <= n * g. O((n g)^2).
PiperSearch piper_search(const PiperModel& model, const PiperCluster& cluster, std::int64_t micro_batches);

} // namespace tessella
