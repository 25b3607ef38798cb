// What one micro-batch costs on one rank, op by op: the chain of ops of a layer (or of the embedding, the head, an MTP
// block) in the order a single stream runs them, with durations from the profile and group sizes from the parallelism.
// FLOPs, bytes and volumes: layer_costs (sections 4 to 7). Built once per scenario; nothing here depends on time.
//
// One MoE layer at TP1 is 12 ops (11 with a dispatcher that reduces while it combines: no join_bwd):
//   forward   attention_fwd | dispatch_fwd | experts_fwd | combine_fwd | join_fwd
//   backward  join_bwd | combine_bwd | experts_bwd | dispatch_bwd | attention_bwd
//   wgrad     experts_wgrad | attention_wgrad
// Compute kernels of one role with no collective between them are one op; `details` lists them unfused. TP and CP
// collectives are ops of their own and cut the compute around them: TP2 makes it 19.
//
// What overlaps inside an op (Megatron's own overlap, not ours): the ring exchange of keys and values hides behind the
// attention of the block at hand, the re-gather of a linear's input behind its input gradient. Only the exposed rest is
// an op's duration; hidden bytes stay in `details` with duration 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/cost/contention.h"
#include "sim/domain/scenario.h"

namespace tessella {

// Which part of a layer an op belongs to; overlap schedulers interleave roles, not single ops.
//   attention: everything before dispatch (norms, projections, core attention, router, permute, serial shared expert)
//   dispatch, combine: the expert all-to-alls (backward: of gradients), and un-permute and residual after combine
//   experts: grouped GEMMs and what is fused with them; for a dense layer its FFN
//   wgrad_*: weight gradients, which only the optimizer waits for
enum class Role : std::uint8_t { attention, dispatch, experts, combine, wgrad_experts, wgrad_attention };
const char* name(Role role);

// Who executes the op and how the ledger books it. ETP collectives are booked as tp.
enum class OpClass : std::uint8_t { compute, tp, cp, ep };

// Duration as a function of tokens: exact at the knots 0, step, 2*step, ..., linear between. Beyond the last knot it
// goes on with the mean slope of the upper half of the curve, so that a tile's plateau is not taken for the trend.
struct LoadCurve {
  std::int64_t step = 1;       // tokens between knots, a power of two
  std::vector<Duration> knots; // non-decreasing, at least two
  Duration at(std::int64_t tokens) const;
  bool operator==(const LoadCurve&) const = default;
};

// One kernel or one collective inside an op, at balanced load; for explanations and for counting provenance.
struct OpDetail {
  std::string name; // "qkv", "fc1_dgrad", "rc_norm_1" (rc_: recomputed), ...
  Duration duration;
  Flops flops;        // executed, 1 multiply-add = 2
  double bytes = 0.0; // compute: HBM traffic; communication: bytes this rank sends
  std::string entry;  // the profile row: "gemm bf16", "all_gather node"
  Provenance provenance = Provenance::assumed;
  double hbm_bound = 0.0;
  Contention contention;
  bool operator==(const OpDetail&) const = default;
};

struct OpCost {
  std::string name; // "attention_fwd", "dispatch_fwd", "tp_ag_fwd", ...
  Role role = Role::attention;
  OpClass cls = OpClass::compute;
  std::int64_t sync_width = 1; // consecutive ranks of the group that must meet: 1, TP, CP*TP, ETP, ETP*EP
  Duration duration;           // alone on the GPU; with a curve: at balanced load
  // Compute: of the routed rows this rank received. Communication: of those of the hottest rank in the sync block.
  // Rows are counted before the ETP gather; balanced = routed_rows(). Present only when EP > 1.
  std::optional<LoadCurve> by_load;
  // What contention needs to know: the share of time the op is limited by HBM (0 = tensor cores, 1 = bandwidth), and
  // its slowdown beside an expert all-to-all. Time-weighted means of the details.
  double hbm_bound = 0.0;
  Contention contention;
  Provenance provenance = Provenance::assumed; // of the entry that dominates it
  std::vector<OpDetail> details;               // in order
  bool operator==(const OpCost&) const = default;

  Flops flops() const; // sum over details
};

struct OpChain {
  std::vector<OpCost> forward;
  std::vector<OpCost> backward; // input gradients, preceded by whatever is recomputed
  std::vector<OpCost> wgrad;
  bool operator==(const OpChain&) const = default;
};

Duration total(const std::vector<OpCost>& ops);

// Rows a rank receives under balanced routing: R = tokens per rank * top-k (layer_costs, section 3), at most the
// capacity of its experts where they have one, and with padding exactly that.
std::int64_t routed_rows(const Scenario& scenario, const MoeFfn& moe);

// Costs of every distinct piece of the model.
struct ModelOps {
  std::vector<OpChain> kinds; // per Model::kinds
  OpChain embedding;          // its gradient (scatter-add, TP gather) is in backward: Megatron never defers it
  OpChain head;               // final norm, logits, cross-entropy (vocabulary-parallel over TP)
  OpChain
      mtp_extra; // per MTP layer beside its block: embedding, norms, eh_proj, its own logits and loss; no MTP: empty
  Bytes p2p_message;       // one stage boundary, per rank
  Duration p2p_latency;    // of the widest neighbour hop of the pipeline; 0 when PP = 1
  Bandwidth p2p_bandwidth; // what is left of the message's time after the latency; infinite when it is free
  Provenance p2p_provenance = Provenance::assumed;
  // Slowdown of an expert exchange while the rank computes beside it, where the profile measured it.
  double exchange_beside_compute = 1.0;
  Contention streaming; // of a kernel that streams from HBM, beside an expert exchange
};

// O(kinds * ops * knots). Throws NotCovered listing every missing profile row at once, those of sim/cost/step_costs.h
// included. Not for profiles of form uniform_stage.
ModelOps make_model_ops(const Scenario& scenario);

} // namespace tessella
