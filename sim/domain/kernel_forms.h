// The physical forms a profile entry may have, and their evaluation. Calibration fits the parameters, the cost model
// evaluates them: both through this file, so a fit and a prediction can never disagree about a formula.
//
// Every function returns seconds, is monotone in each size, and throws NotCovered when the entry lacks a parameter.
// `form_table()` lists each form with its parameters and their dimensions; the profile reader checks against it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/domain/profile.h"

namespace tessella {

enum class Dimension { plain, seconds, bytes, bandwidth, flop_rate };

struct FormParam {
  std::string name;
  Dimension dimension = Dimension::plain;
  bool required = true;
};

struct FormSpec {
  std::string name;
  std::string meaning; // the formula, in one line
  std::vector<FormParam> params;
};

// All forms, in a fixed order.
const std::vector<FormSpec>& form_table();

// C[m,n] = A[m,k] B[k,n]; element sizes in bytes.
struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double in_bytes = 2.0;
  double out_bytes = 2.0;
};

// Form gemm_tiles: launch + max(waves of tiles at the peak rate, bytes / HBM rate), for the best of the library's
// tiles. Passes of a linear layer of `tokens` rows, `out` x `in` weights: forward {tokens, out, in}; dgrad {tokens, in,
// out}; wgrad {out, in, tokens} with out_bytes 8, because accumulation into fp32 main gradients reads and writes 4
// bytes. `sms` limits the SMs the kernel may use (a neighbour holds the others); 0 = all.
double gemm_seconds(const ProfileEntry& entry, const GemmShape& shape, std::int64_t sms = 0);

// Form grouped_gemm_tiles, forward and dgrad: one launch over experts; tokens[e] rows for expert e, each padded to the
// tile. shape.m is ignored. Weights of experts without tokens are not read.
double grouped_gemm_seconds(const ProfileEntry& entry, std::span<const std::int64_t> tokens, const GemmShape& shape,
                            std::int64_t sms = 0);

// Form grouped_gemm_tiles, wgrad: an m x n output per expert with tokens[e] as its depth; shape.k is ignored.
// Experts without tokens cost nothing.
double grouped_wgrad_seconds(const ProfileEntry& entry, std::span<const std::int64_t> tokens, const GemmShape& shape,
                             std::int64_t sms = 0);

// Softmax attention over one rank's heads. FLOPs are those executed: causal halves them, a window bounds them.
struct AttentionShape {
  std::int64_t batch = 1;
  std::int64_t seq_q = 0;
  std::int64_t seq_kv = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t qk_head_dim = 0;
  std::int64_t v_head_dim = 0;
  bool causal = true;
  std::int64_t window = 0; // 0 = none
};

// Form attention_rate: launch + max(work of the busiest SM at peak * dim / (dim + dim_half), bytes / HBM rate).
// Parameters: qk_matmuls and v_matmuls count products per pair over the two head sizes (forward 1 and 1, backward 3 and
// 2: recomputed scores, dP and dV, dQ and dK); kv_half = what starting and ending a block costs, in keys.
double attention_seconds(const ProfileEntry& entry, const AttentionShape& shape);

// Chunked gated delta rule over one rank's value heads.
struct GdnShape {
  std::int64_t batch = 1;
  std::int64_t seq = 0;
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t key_head_dim = 0;
  std::int64_t value_head_dim = 0;
};

// Form gdn_rate: launch + forward FLOPs / peak + chunks in sequence * chunk_latency (in waves of heads over the SMs).
// A backward entry's peak is its rate in forward FLOPs.
double gdn_seconds(const ProfileEntry& entry, const GdnShape& shape);
double gdn_flops(const GdnShape& shape, double chunk); // executed by the forward kernels

// Chunked state space duality (Mamba-2) over one rank's heads.
struct SsdShape {
  std::int64_t batch = 1;
  std::int64_t seq = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t groups = 0; // heads of one group share B and C
  std::int64_t state_size = 0;
  std::int64_t chunk = 0;
};

// Form ssd_rate: launch + forward FLOPs / peak + state_passes * bytes of the chunk states / hbm. The products run in
// parallel over chunks; the states between chunks (fp32, head_dim x state_size per head) travel through memory.
// A backward entry's peak is its rate in forward FLOPs.
double ssd_seconds(const ProfileEntry& entry, const SsdShape& shape);
// arXiv 2405.21060, section 6: per token, Q = chunk, N = state_size, P = head_dim: C B^T 2 Q N per group; per head 2 Q
// P inside the chunk, 2 N P into the state and 2 N P out of it.
double ssd_flops(const SsdShape& shape);
double ssd_state_bytes(const SsdShape& shape); // of all chunk states, once

// Form stream: launch + bytes / bandwidth (norms, activations, permutes, casts, optimizer).
double stream_seconds(const ProfileEntry& entry, double bytes);

// Form collective: latency + latency_per_rank * (ranks - 1)
//                  + (bytes + half_size * bytes / (bytes + onset)) / (link * efficiency * (1 - pair_loss / (ranks -
//                  1)))
// where `bytes` is what the busiest link carries and `link` its bandwidth from the topology. half_size is the start-up
// cost of large messages, paid in full once bytes exceed the optional `onset` (0: always); the optional `pair_loss` < 1
// is what two ranks lose against many. The optional `sms` says how many SMs the kernels hold.
double collective_seconds(const ProfileEntry& entry, std::int64_t ranks, double bytes, Bandwidth link);

// Form constant: seconds, whatever the shape.
double constant_seconds(const ProfileEntry& entry);

// Form factor: a plain number > 0, such as the share of burst speed that sustained power leaves (op `sustained`).
double factor_value(const ProfileEntry& entry);

// Form spread: measured over predicted, of whole steps (ops `step_dense` and `step_moe`).
struct Spread {
  double low = 1.0;  // 5 % quantile
  double high = 1.0; // 95 % quantile
};
Spread spread_of(const ProfileEntry& entry);

// Form uniform_stage: one micro-batch of a whole pipeline rank's share, whatever the model; for schedule oracles.
// A chunk of a rank with v chunks takes 1/v of it. Without input_grad and weight_grad the backward is not split.
struct UniformStage {
  double forward = 0.0; // seconds, all four
  double backward = 0.0;
  double input_grad = 0.0;
  double weight_grad = 0.0;
  double message = 0.0; // bytes over one stage boundary
};
UniformStage uniform_stage(const ProfileEntry& entry);

// Form contention: time factors (>= 1) of a kernel while a communication kernel of another stream is resident. They
// come on top of the SMs that the neighbour holds.
struct ContentionFactors {
  double gemm = 1.0;          // tensor-core bound, beside data moving
  double membound = 1.0;      // casts, copies, permutes, beside data moving
  double norm = 1.0;          // row reductions such as LayerNorm, beside data moving
  double waiting = 1.0;       // HBM-bound kernels beside a kernel that only waits for its peers
  double communication = 1.0; // the communication itself, beside compute
};
ContentionFactors contention_factors(const ProfileEntry& entry);

// The parameter, or NotCovered naming the entry.
double required_param(const ProfileEntry& entry, const std::string& key);

} // namespace tessella
