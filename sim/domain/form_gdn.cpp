// The chunked gated delta rule: products inside chunks run in parallel, the state passes from chunk to chunk.
#include <algorithm>
#include <cmath>

#include "sim/domain/kernel_forms.h"

namespace tessella {

double gdn_flops(const GdnShape& s, double chunk) {
  const double dk = static_cast<double>(s.key_head_dim);
  const double dv = static_cast<double>(s.value_head_dim);
  const double tokens = static_cast<double>(s.batch * s.seq);
  // Per token and value head: three products with the d_k x d_v state (read, erase, write); inside the chunk K K^T,
  // Q K^T and the transform of K (d_k wide), and those of V and the output (d_v wide).
  return 2.0 * tokens * static_cast<double>(s.value_heads) * (3.0 * dk * dv + chunk * (3.0 * dk + 2.0 * dv));
}

double gdn_seconds(const ProfileEntry& entry, const GdnShape& s) {
  if (s.batch <= 0 || s.seq <= 0 || s.value_heads <= 0) return 0.0;
  constexpr double kValueTile = 64.0; // columns of the state one thread block keeps
  const double chunk = required_param(entry, "chunk");
  const double parallel = gdn_flops(s, chunk) / required_param(entry, "peak");
  const double blocks =
      static_cast<double>(s.batch * s.value_heads) * std::ceil(static_cast<double>(s.value_head_dim) / kValueTile);
  const double waves = std::ceil(blocks / required_param(entry, "sms"));
  const double chunks = std::ceil(static_cast<double>(s.seq) / chunk);
  return required_param(entry, "launch") + parallel + waves * chunks * required_param(entry, "chunk_latency");
}

} // namespace tessella
