// State space duality in chunks: matrix products inside and between chunks, and the states that pass between them.
#include <cmath>

#include "sim/domain/kernel_forms.h"

namespace tessella {
namespace {

double d(std::int64_t x) {
  return static_cast<double>(x);
}

} // namespace

double ssd_flops(const SsdShape& s) {
  const double per_group = d(s.chunk) * d(s.state_size);
  const double per_head = d(s.chunk) * d(s.head_dim) + 2.0 * d(s.state_size) * d(s.head_dim);
  return 2.0 * d(s.batch * s.seq) * (d(s.groups) * per_group + d(s.heads) * per_head);
}

double ssd_state_bytes(const SsdShape& s) {
  constexpr double kFp32 = 4.0;
  const double chunks = d(s.batch) * std::ceil(d(s.seq) / d(s.chunk));
  return kFp32 * chunks * d(s.heads) * d(s.head_dim) * d(s.state_size);
}

double ssd_seconds(const ProfileEntry& entry, const SsdShape& s) {
  if (s.batch <= 0 || s.seq <= 0 || s.heads <= 0) return 0.0;
  const double products = ssd_flops(s) / required_param(entry, "peak");
  const double states = required_param(entry, "state_passes") * ssd_state_bytes(s) / required_param(entry, "hbm");
  return required_param(entry, "launch") + products + states;
}

} // namespace tessella
