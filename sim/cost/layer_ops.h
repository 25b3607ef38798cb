// What one micro-batch costs on one rank, op by op: the chain of ops of a layer (or of the embedding, the head, an MTP
// block) in the order a single stream runs them, with durations from the profile and group sizes from the parallelism.
// FLOPs, bytes and volumes: layer_costs (sections 4 to 7). Built once per scenario; nothing here depends on time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/domain/scenario.h"

namespace tessella {

// Which part of a layer an op belongs to; overlap schedulers interleave roles, not single ops.
//   attention: everything before dispatch (norms, projections, core attention, router, permute, serial shared expert)
//   dispatch, combine: the expert all-to-alls (backward: of gradients)
//   experts: grouped GEMMs and what is fused with them; for a dense layer its FFN
//   wgrad_*: weight gradients, which only the optimizer waits for
enum class Role : std::uint8_t { attention, dispatch, experts, combine, wgrad_experts, wgrad_attention };

// Who executes the op and how the ledger books it.
enum class OpClass : std::uint8_t { compute, tp, cp, ep };

// Duration as a function of tokens: exact at the knots 0, step, 2*step, ..., linear between, linear beyond the last.
struct LoadCurve {
  std::int64_t step = 1;       // tokens between knots, a power of two
  std::vector<Duration> knots; // non-decreasing, at least two
  Duration at(std::int64_t tokens) const;
  bool operator==(const LoadCurve&) const = default;
};

struct OpCost {
  std::string name; // "attn_fwd", "dispatch", "tp_ag", ...
  Role role = Role::attention;
  OpClass cls = OpClass::compute;
  std::int64_t sync_width = 1; // consecutive ranks of the group that must meet: 1, TP, CP*TP, ETP*EP
  Duration duration;           // alone on the GPU; for ops without a curve
  // Compute: of the tokens this rank received. Communication: of the tokens of the hottest rank in the sync block.
  std::optional<LoadCurve> by_load;
  // What contention needs to know: the share of time the op is limited by HBM, and whether it fills all SMs.
  double hbm_bound = 0.0;                      // 0 = tensor-core bound, 1 = bandwidth bound
  Provenance provenance = Provenance::assumed; // of the entry that dominates it
  bool operator==(const OpCost&) const = default;
};

struct OpChain {
  std::vector<OpCost> forward;
  std::vector<OpCost> backward; // input gradients, preceded by whatever is recomputed
  std::vector<OpCost> wgrad;
};

// Costs of every distinct piece of the model. Throws NotCovered listing every missing profile row at once.
struct ModelOps {
  std::vector<OpChain> kinds; // per Model::kinds
  OpChain embedding;
  OpChain head;      // final norm, logits, cross-entropy (vocabulary-parallel over TP)
  OpChain mtp_extra; // per MTP layer beside its block: norms, eh_proj, its own logits
  Bytes p2p_message; // one stage boundary, per rank
  Duration p2p_latency;
  Bandwidth p2p_bandwidth;
  Duration grad_reduce(std::int64_t dense_params, std::int64_t expert_params) const;
};

} // namespace tessella
