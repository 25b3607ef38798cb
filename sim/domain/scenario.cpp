#include "sim/domain/scenario.h"

#include <algorithm>

namespace tessella {

const char* name(Precision p) {
  return p == Precision::bf16 ? "bf16" : "fp8";
}

const char* name(RecomputeModule m) {
  constexpr const char* names[] = {"core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", "shared_experts"};
  return names[static_cast<std::size_t>(m)];
}

const char* name(Dispatcher d) {
  constexpr const char* names[] = {"alltoall", "allgather", "deepep", "hybridep"};
  return names[static_cast<std::size_t>(d)];
}

const char* name(FlopsConvention c) {
  return c == FlopsConvention::causal ? "causal attention" : "full attention";
}

bool Recompute::has(RecomputeModule m) const {
  return granularity == RecomputeGranularity::selective &&
         std::find(modules.begin(), modules.end(), m) != modules.end();
}

} // namespace tessella
