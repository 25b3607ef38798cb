#include "sim/cost/kernel_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/error.h"

namespace tessella {
namespace {

constexpr double kBf16 = 2.0;
constexpr double kFp8 = 1.0;
constexpr double kFp32Accumulate = 8.0; // weight gradients are read, added to and written back in fp32

// The rows of the profile, by StreamKernel.
constexpr std::array kStreamRows = {"norm_fwd",   "norm_bwd",  "activation",    "activation_bwd", "conv1d_fwd",
                                    "conv1d_bwd", "copy",      "permute",       "unpermute",      "cast_fp8",
                                    "router",     "embedding", "cross_entropy", "optimizer"};

double count(std::int64_t n) {
  return static_cast<double>(n);
}

// The GEMM a pass runs, as C[m,n] = A[m,k] B[k,n].
GemmShape gemm_shape(GemmPass pass, const LinearShape& s, double in_bytes) {
  switch (pass) {
  case GemmPass::forward:
    return {s.tokens, s.out, s.in, in_bytes, kBf16};
  case GemmPass::dgrad:
    return {s.tokens, s.in, s.out, in_bytes, kBf16};
  case GemmPass::wgrad:
    return {s.out, s.in, s.tokens, in_bytes, kFp32Accumulate};
  }
  TSL_CHECK(false);
}

double gemm_bytes(const GemmShape& g) {
  return g.in_bytes * (count(g.m) * count(g.k) + count(g.k) * count(g.n)) + g.out_bytes * count(g.m) * count(g.n);
}

} // namespace

std::string row_name(std::string_view op, std::string_view dtype, std::string_view tier) {
  std::string row(op);
  if (!dtype.empty()) row += fmt::format(" {}", dtype);
  if (!tier.empty()) row += fmt::format(" {}", tier);
  return row;
}

double streaming_bandwidth(const Profile& profile) {
  double best = 0.0;
  for (const ProfileEntry& e : profile.entries)
    if (e.form == "stream") best = std::max(best, e.param("bandwidth").value_or(0.0));
  const double datasheet = profile.gpu.hbm.bytes_per_second;
  return best > 0.0 ? std::min(best, datasheet) : datasheet;
}

KernelCosts::KernelCosts(const Profile& profile, Precision precision, const ContentionModel& contention)
    : profile_(profile), precision_(precision), contention_(contention), host_op_(host_detail("host_op")),
      host_moe_(host_detail("host_moe")) {}

OpDetail KernelCosts::host_detail(const char* op) {
  OpDetail d;
  const ProfileEntry* entry = profile_.find(op);
  if (entry == nullptr) return d;
  d.name = "host_issue";
  d.entry = row_name(entry->op, entry->dtype, entry->tier);
  d.provenance = entry->provenance;
  d.duration = round_to_picoseconds(seconds(*entry, [](const ProfileEntry& e) { return constant_seconds(e); }));
  return d;
}

const ProfileEntry* KernelCosts::find(const std::string& op, bool fp8) {
  const ProfileEntry* entry = fp8 ? profile_.find(op, "fp8_block") : nullptr;
  if (entry == nullptr || entry->dtype.empty()) entry = profile_.find(op, fp8 ? "fp8" : "bf16");
  if (entry == nullptr) missing_.insert(row_name(op, fp8 ? "fp8_block" : "bf16", ""));
  return entry;
}

// A pass without a row of its own is served by the forward row.
const ProfileEntry* KernelCosts::find_gemm(const std::string& op, GemmPass pass, bool fp8) {
  constexpr std::array suffix = {"", "_dgrad", "_wgrad"};
  const std::string row = op + suffix[static_cast<std::size_t>(pass)];
  for (const char* dtype : fp8 ? std::array{"fp8_block", "fp8"} : std::array{"bf16", "bf16"})
    if (const ProfileEntry* entry = profile_.find(row, dtype)) return entry;
  return find(op, fp8);
}

template <class Evaluate>
double KernelCosts::seconds(const ProfileEntry& entry, Evaluate evaluate) {
  try {
    return evaluate(entry);
  } catch (const NotCovered& e) {
    missing_.insert(e.missing().begin(), e.missing().end());
    return 0.0;
  }
}

// GEMMs run at what sustained power leaves of the burst clock; this is the one place that applies it. Attention tables
// are of kernels that last many milliseconds, at rates below the power limit: their fits hold it already.
template <class Evaluate>
OpDetail KernelCosts::tensor_detail(const std::string& name, const ProfileEntry& entry, Flops flops, double bytes,
                                    Evaluate evaluate) {
  const double alone = seconds(entry, [&](const ProfileEntry& e) { return evaluate(e, std::int64_t{0}); });
  OpDetail d;
  d.name = name;
  d.entry = row_name(entry.op, entry.dtype, entry.tier);
  d.provenance = entry.provenance;
  d.flops = flops;
  d.bytes = bytes;
  if (alone <= 0.0) return d;
  const bool gemm = entry.form == "gemm_tiles" || entry.form == "grouped_gemm_tiles";
  const ProfileEntry* sustained =
      gemm ? profile_.find("sustained", entry.dtype.substr(0, entry.dtype.find('_'))) : nullptr;
  const double share =
      sustained == nullptr ? 1.0 : seconds(*sustained, [](const ProfileEntry& e) { return factor_value(e); });
  const double derated = share > 0.0 ? alone / share : alone;
  d.duration = round_to_picoseconds(derated);
  const double demand = bytes / derated;
  d.hbm_bound = std::clamp(demand / contention_.hbm_capacity, 0.0, 1.0);
  double sm_factor = 1.0;
  if (const std::int64_t held = contention_.neighbour.sms_held; held > 0)
    sm_factor = std::max(1.0, evaluate(entry, contention_.sms - held) / alone);
  d.contention = contention_.tensor(sm_factor, demand);
  return d;
}

OpDetail KernelCosts::linear(const std::string& name, GemmPass pass, const LinearShape& shape) {
  const bool fp8 = shape.fp8 && precision_ == Precision::fp8;
  const ProfileEntry* entry = find_gemm("gemm", pass, fp8);
  if (entry == nullptr) return {};
  const GemmShape g = gemm_shape(pass, shape, fp8 ? kFp8 : kBf16);
  const Flops flops{2.0 * count(g.m) * count(g.n) * count(g.k)};
  return tensor_detail(name, *entry, flops, gemm_bytes(g),
                       [&g](const ProfileEntry& e, std::int64_t sms) { return gemm_seconds(e, g, sms); });
}

OpDetail KernelCosts::grouped(const std::string& name, GemmPass pass, std::span<const std::int64_t> tokens,
                              const LinearShape& shape) {
  const bool fp8 = shape.fp8 && precision_ == Precision::fp8;
  const ProfileEntry* entry = find_gemm("grouped_gemm", pass, fp8);
  if (entry == nullptr) return {};
  const GemmShape g = gemm_shape(pass, shape, fp8 ? kFp8 : kBf16);
  double rows = 0.0;
  double bytes = 0.0;
  for (const std::int64_t t : tokens) {
    if (t <= 0) continue; // an expert without tokens is not read
    rows += count(t);
    bytes += gemm_bytes(gemm_shape(pass, {t, shape.in, shape.out}, g.in_bytes));
  }
  const Flops flops{2.0 * rows * count(shape.in) * count(shape.out)};
  return tensor_detail(name, *entry, flops, bytes, [&](const ProfileEntry& e, std::int64_t sms) {
    return pass == GemmPass::wgrad ? grouped_wgrad_seconds(e, tokens, g, sms) : grouped_gemm_seconds(e, tokens, g, sms);
  });
}

OpDetail KernelCosts::attention(const std::string& name, bool backward, const AttentionShape& s, double pairs) {
  const ProfileEntry* entry = find(backward ? "attention_bwd" : "attention_fwd", false);
  if (entry == nullptr) return {};
  // FlashAttention's backward recomputes QK^T: 5 products instead of 2.
  const double products = backward ? 2.5 : 1.0;
  const Flops flops{products * 2.0 * pairs * count(s.batch * s.heads) * count(s.qk_head_dim + s.v_head_dim)};
  const double rows_q = count(s.batch * s.seq_q * s.heads);
  const double rows_kv = count(s.batch * s.seq_kv * s.kv_heads);
  const double dims = count(s.qk_head_dim + s.v_head_dim);
  const double bytes = (backward ? 2.0 : 1.0) * kBf16 * dims * (rows_q + rows_kv); // q, o; k, v (and their gradients)
  return tensor_detail(name, *entry, flops, bytes, [&](const ProfileEntry& e, std::int64_t sms) {
    const double alone = attention_seconds(e, s);
    return sms > 0 ? alone * sm_persistent_factor(contention_.sms, contention_.sms - sms) : alone;
  });
}

OpDetail KernelCosts::gdn(const std::string& name, bool backward, const GdnShape& s) {
  const ProfileEntry* entry = find(backward ? "gdn_bwd" : "gdn_fwd", false);
  if (entry == nullptr) return {};
  const double tokens = count(s.batch * s.seq);
  // Megatron's count: 4 H_v d_v^2 multiply-adds per token (layer_costs, section 5), twice that backward.
  const double products = backward ? 2.0 : 1.0;
  const Flops flops{products * 8.0 * tokens * count(s.value_heads * s.value_head_dim * s.value_head_dim)};
  const double dims = 2.0 * count(s.key_heads * s.key_head_dim) + 2.0 * count(s.value_heads * s.value_head_dim);
  return tensor_detail(name, *entry, flops, products * kBf16 * tokens * dims,
                       [&](const ProfileEntry& e, std::int64_t sms) {
                         const double alone = gdn_seconds(e, s);
                         return sms > 0 ? alone * sm_persistent_factor(contention_.sms, contention_.sms - sms) : alone;
                       });
}

OpDetail KernelCosts::ssd(const std::string& name, bool backward, const SsdShape& s) {
  const ProfileEntry* entry = find(backward ? "ssd_bwd" : "ssd_fwd", false);
  if (entry == nullptr) return {};
  const double tokens = count(s.batch * s.seq);
  const double products = backward ? 2.0 : 1.0;
  // Megatron's count of the scan: 7 d_inner N FLOPs per token (sim/cost/flops.h), twice that backward.
  const Flops flops{products * 7.0 * tokens * count(s.heads * s.head_dim * s.state_size)};
  const double dims = 2.0 * count(s.heads * s.head_dim) + 2.0 * count(s.groups * s.state_size); // x, y; B, C
  const double states = entry->param("state_passes").value_or(0.0) * ssd_state_bytes(s);
  return tensor_detail(name, *entry, flops, products * kBf16 * tokens * dims + states,
                       [&](const ProfileEntry& e, std::int64_t sms) {
                         const double alone = ssd_seconds(e, s);
                         return sms > 0 ? alone * sm_persistent_factor(contention_.sms, contention_.sms - sms) : alone;
                       });
}

OpDetail KernelCosts::stream(const std::string& name, StreamKernel kernel, double bytes) {
  OpDetail d;
  const ProfileEntry* entry = find(kStreamRows[static_cast<std::size_t>(kernel)], false);
  if (entry == nullptr) return d;
  d.name = name;
  d.entry = row_name(entry->op, entry->dtype, entry->tier);
  d.provenance = entry->provenance;
  d.bytes = bytes;
  const double alone = seconds(*entry, [bytes](const ProfileEntry& e) { return stream_seconds(e, bytes); });
  if (alone <= 0.0 || bytes <= 0.0) return d;
  d.duration = round_to_picoseconds(alone);
  const double demand = bytes / alone;
  d.hbm_bound = std::clamp(demand / contention_.hbm_capacity, 0.0, 1.0);
  const bool norm = kernel == StreamKernel::norm_fwd || kernel == StreamKernel::norm_bwd;
  d.contention = norm ? contention_.norm(demand) : contention_.streaming(demand);
  return d;
}

} // namespace tessella
