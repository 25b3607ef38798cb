// Collectives: Hockney's alpha-beta, with the two ways in which libraries miss it. Small messages take a protocol of
// low latency and low bandwidth, so the time saved by the fast protocol, and its start-up cost, come in gradually; and
// a pair of ranks cannot open as many channels as a larger group.
#include "sim/base/check.h"
#include "sim/domain/kernel_forms.h"

namespace tessella {

double collective_seconds(const ProfileEntry& entry, std::int64_t ranks, double bytes, Bandwidth link) {
  if (ranks <= 1) return 0.0;
  const double peers = static_cast<double>(ranks - 1);
  const double alpha = required_param(entry, "latency") + required_param(entry, "latency_per_rank") * peers;
  const double pair_loss = entry.param("pair_loss").value_or(0.0);
  TSL_CHECK_OP(pair_loss, <, 1.0);
  const double rate = link.bytes_per_second * required_param(entry, "efficiency") * (1.0 - pair_loss / peers);
  if (bytes <= 0.0) return alpha;
  const double onset = entry.param("onset").value_or(0.0);
  const double start_up = required_param(entry, "half_size") * bytes / (bytes + onset);
  return alpha + (bytes + start_up) / rate;
}

} // namespace tessella
