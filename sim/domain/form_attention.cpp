// Softmax attention (FlashAttention-style tiling) and the chunked gated delta rule.
#include <algorithm>

#include "sim/base/check.h"
#include "sim/domain/kernel_forms.h"

namespace tessella {
namespace {

constexpr double kQueryTile = 128.0; // query rows of one thread block
constexpr double kKeyTile = 128.0;   // key columns of one step: the causal diagonal costs half of one per row

// Query-key pairs one head executes, and the longest key range of a query row.
struct Pairs {
  double total;
  double longest;
};

Pairs executed_pairs(const AttentionShape& s) {
  const double q = static_cast<double>(s.seq_q);
  const double kv = static_cast<double>(s.seq_kv);
  const double window = s.window > 0 ? std::min(static_cast<double>(s.window), kv) : kv;
  if (!s.causal) return {q * window, window};
  const double first = kv - q; // keys before the first query's own
  // Row i sees min(window, first + i + 1) keys; rows with a growing range come first.
  const double growing = std::clamp(window - first, 0.0, q);
  const double total = growing * first + growing * (growing + 1.0) / 2.0 + (q - growing) * window;
  const double longest = std::min(window, kv);
  return {total + q * std::min(kKeyTile, kv) / 2.0, longest};
}

} // namespace

double attention_seconds(const ProfileEntry& entry, const AttentionShape& s) {
  if (s.batch <= 0 || s.seq_q <= 0 || s.seq_kv <= 0 || s.heads <= 0) return 0.0;
  TSL_CHECK_OP(s.seq_kv, >=, s.seq_q);
  const double sms = required_param(entry, "sms");
  const double kv_half = required_param(entry, "kv_half"); // keys that a block's prologue and epilogue are worth
  const double dim = static_cast<double>(s.qk_head_dim + s.v_head_dim) / 2.0;
  const double rate = required_param(entry, "peak") / sms * dim / (dim + required_param(entry, "dim_half"));
  const double flops_per_pair = 2.0 * (required_param(entry, "qk_matmuls") * static_cast<double>(s.qk_head_dim) +
                                       required_param(entry, "v_matmuls") * static_cast<double>(s.v_head_dim));
  const Pairs pairs = executed_pairs(s);
  const double q = static_cast<double>(s.seq_q);
  const double per_head = pairs.total + q * kv_half;
  const double spread = static_cast<double>(s.batch * s.heads) * per_head / sms;
  const double block = std::min(q, kQueryTile) * (pairs.longest + kv_half); // no SM finishes before its own block
  return required_param(entry, "launch") + std::max(spread, block) * flops_per_pair / rate;
}

double gdn_seconds(const ProfileEntry& entry, const GdnShape& s) {
  if (s.batch <= 0 || s.seq <= 0 || s.value_heads <= 0) return 0.0;
  const double chunk = required_param(entry, "chunk");
  const double dk = static_cast<double>(s.key_head_dim);
  const double dv = static_cast<double>(s.value_head_dim);
  const double tokens = static_cast<double>(s.batch * s.seq);
  const double hv = static_cast<double>(s.value_heads);
  const double hk = static_cast<double>(s.key_heads);
  // Per token and head: three products with the d_k x d_v state, and the products inside a chunk.
  const double flops =
      2.0 * tokens * hv * (3.0 * dk * dv + chunk * (3.0 * dk + 2.0 * dv)) * required_param(entry, "flops_factor");
  const double bytes =
      2.0 * tokens * (2.0 * hk * dk + 2.0 * hv * dv) * required_param(entry, "bytes_factor"); // q, k, v, o
  const double serial = static_cast<double>(s.seq) / chunk * required_param(entry, "chunk_latency");
  const double roof = std::max(flops / required_param(entry, "peak"), bytes / required_param(entry, "hbm"));
  return required_param(entry, "launch") + std::max(roof, serial);
}

} // namespace tessella
