// Collectives: the alpha-beta model of Hockney with a saturating bandwidth, per tier of the topology.
#include "sim/domain/kernel_forms.h"

namespace tessella {

double collective_seconds(const ProfileEntry& entry, std::int64_t ranks, double bytes, Bandwidth link) {
  if (ranks <= 1) return 0.0;
  const double alpha =
      required_param(entry, "latency") + required_param(entry, "latency_per_rank") * static_cast<double>(ranks - 1);
  const double rate = link.bytes_per_second * required_param(entry, "efficiency");
  return alpha + (bytes > 0.0 ? (bytes + required_param(entry, "half_size")) / rate : 0.0);
}

} // namespace tessella
