// Softmax attention in the tiling of FlashAttention: a thread block owns 128 query rows of one head and walks over
// their keys, so the causal diagonal costs half a key tile per row more than the mask asks for.
#include <algorithm>

#include "sim/base/check.h"
#include "sim/domain/kernel_forms.h"

namespace tessella {
namespace {

constexpr double kQueryTile = 128.0;
constexpr double kKeyTile = 128.0;

// Query-key pairs one head executes, and the longest key range of a query row.
struct Pairs {
  double total;
  double longest;
};

Pairs executed_pairs(const AttentionShape& s) {
  const double q = static_cast<double>(s.seq_q);
  const double kv = static_cast<double>(s.seq_kv);
  const double window = s.window > 0 ? std::min(static_cast<double>(s.window), kv) : kv;
  const double diagonal = q * std::min(kKeyTile, kv) / 2.0;
  if (!s.causal) return {q * window + (window < kv ? diagonal : 0.0), window};
  const double first = kv - q; // keys before the first query's own
  // Row i sees min(window, first + i + 1) keys: `growing` rows, then rows that see the whole window.
  const double growing = std::clamp(window - first, 0.0, q);
  const double total = growing * first + growing * (growing + 1.0) / 2.0 + (q - growing) * window;
  return {total + diagonal, window};
}

} // namespace

double attention_seconds(const ProfileEntry& entry, const AttentionShape& s) {
  if (s.batch <= 0 || s.seq_q <= 0 || s.seq_kv <= 0 || s.heads <= 0) return 0.0;
  TSL_CHECK_OP(s.seq_kv, >=, s.seq_q);
  const double sms = required_param(entry, "sms");
  const double kv_half = required_param(entry, "kv_half");
  const double qk = static_cast<double>(s.qk_head_dim);
  const double v = static_cast<double>(s.v_head_dim);
  // The softmax costs the same per pair whatever the head size, so small heads reach less of the peak.
  const double flops_per_pair =
      2.0 * (required_param(entry, "qk_matmuls") * qk + required_param(entry, "v_matmuls") * v);
  const double dim = (qk + v) / 2.0;
  const double sm_rate = required_param(entry, "peak") / sms * dim / (dim + required_param(entry, "dim_half"));
  const Pairs pairs = executed_pairs(s);
  const double q = static_cast<double>(s.seq_q);
  const double kv = static_cast<double>(s.seq_kv);
  const double batch = static_cast<double>(s.batch);
  const double heads = static_cast<double>(s.heads);
  const double spread = batch * heads * (pairs.total + q * kv_half) / sms;
  const double block = std::min(q, kQueryTile) * (pairs.longest + kv_half); // an SM does not finish before its block
  const double bytes = 2.0 * batch * (heads * q + static_cast<double>(s.kv_heads) * kv) * (qk + v);
  const double memory = bytes * required_param(entry, "bytes_factor") / required_param(entry, "hbm");
  return required_param(entry, "launch") + std::max(std::max(spread, block) * flops_per_pair / sm_rate, memory);
}

} // namespace tessella
