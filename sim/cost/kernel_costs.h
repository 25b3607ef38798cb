// From a kernel's shape to what it costs on this GPU: looks up the profile row, evaluates its form, applies the
// sustained-power derate (row `sustained`; GEMMs run at that share of the burst rate), and notes every
// row that is missing instead of failing at the first. The profile rows it asks for are named in one table,
// kernel_costs.cpp.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "sim/cost/contention.h"
#include "sim/cost/layer_ops.h"
#include "sim/domain/kernel_forms.h"

namespace tessella {

// Bandwidth-bound kernels, by what they do. Bytes: every tensor read or written once per pass over it; router: 4 bytes
// per token and expert; cast: 2 read, 1 and its share of a scale written.
enum class StreamKernel {
  norm_fwd,
  norm_bwd,
  activation_fwd,
  activation_bwd,
  conv_fwd,
  conv_bwd,
  copy, // elementwise kernels: residuals, rope, gates
  permute,
  unpermute,
  cast,
  router,
  embedding,
  cross_entropy,
  optimizer,
};

enum class GemmPass { forward, dgrad, wgrad };

// A weight matrix in x out applied to `tokens` rows.
struct LinearShape {
  std::int64_t tokens = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool fp8 = true; // in fp8 when the scenario is; the router and the output layer stay bf16
};

class KernelCosts {
 public:
  KernelCosts(const Profile& profile, Precision precision, const ContentionModel& contention);

  Precision precision() const { return precision_; }

  // One GEMM of a linear layer: forward, input gradient (tokens x in, reduction over out), or weight gradient
  // (in x out, reduction over tokens, accumulated into fp32).
  OpDetail linear(const std::string& name, GemmPass pass, const LinearShape& shape);
  // The same of every local expert in one launch; tokens[e] rows each. shape.tokens is ignored.
  OpDetail grouped(const std::string& name, GemmPass pass, std::span<const std::int64_t> tokens,
                   const LinearShape& shape);
  // Softmax attention; `pairs` = query-key pairs per head and sequence that count as FLOPs.
  OpDetail attention(const std::string& name, bool backward, const AttentionShape& shape, double pairs);
  OpDetail gdn(const std::string& name, bool backward, const GdnShape& shape);
  OpDetail ssd(const std::string& name, bool backward, const SsdShape& shape);
  OpDetail stream(const std::string& name, StreamKernel kernel, double bytes);

  // What the host needs to issue a kernel: no op is shorter than that times its kernels. 0 without row `host_op`.
  const OpDetail& host_op() const { return host_op_; }
  // The same inside MoE layers, where the host waits for token counts and so never runs ahead: no pass over such a
  // layer is shorter than this times its kernels and collectives (row `host_moe`). 0 without that row.
  const OpDetail& host_moe() const { return host_moe_; }

  // Rows the profile lacks, in alphabetical order.
  const std::set<std::string>& missing() const { return missing_; }

 private:
  // The duration of a constant row of the host; empty without it.
  OpDetail host_detail(const char* op);
  // The row of `op`, or a note in missing_. fp8: block-scaled (row dtype fp8_block) when the profile has it.
  const ProfileEntry* find(const std::string& op, bool fp8);
  const ProfileEntry* find_gemm(const std::string& op, GemmPass pass, bool fp8);
  // Seconds of `evaluate(entry)`; 0 and a note in missing_ when the entry lacks a parameter.
  template <class Evaluate>
  double seconds(const ProfileEntry& entry, Evaluate evaluate);
  template <class Evaluate>
  OpDetail tensor_detail(const std::string& name, const ProfileEntry& entry, Flops flops, double bytes,
                         Evaluate evaluate);

  const Profile& profile_;
  Precision precision_;
  ContentionModel contention_;
  std::set<std::string> missing_;
  OpDetail host_op_;
  OpDetail host_moe_;
};

// The row name shown in details and in NotCovered: "gemm bf16".
std::string row_name(std::string_view op, std::string_view dtype, std::string_view tier);

// The bandwidth that streaming kernels of this profile reach: what mechanism (b) of contention shares out.
double streaming_bandwidth(const Profile& profile);

} // namespace tessella
