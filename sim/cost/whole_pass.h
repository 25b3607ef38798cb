// What can hold up a whole pass over a layer, however fast its kernels are: the host that issues them, and parameters
// that must be gathered first. The difference to the sum of the kernels is a last detail of the pass's last compute op.
#pragma once

#include <initializer_list>
#include <vector>

#include "sim/cost/layer_context.h"
#include "sim/cost/params.h"

namespace tessella {

// An eager framework issues a MoE layer op by op, waits for token counts in between, and cannot run ahead: a pass takes
// at least the host's time for all its kernels and collectives. Where expert exchanges overlap compute, the host issues
// both halves one after another, so their time does not count towards it.
void wait_for_host(std::initializer_list<std::vector<OpCost>*> passes, const OpDetail& host, bool exchanges_hidden);

// Fully sharded parameters (FSDP, ZeRO-3; row `sharded_params`): every pass over a layer gathers its bf16 parameters,
// the backward pass also scatters its fp32 gradients, both under the compute of the layer before. With W the pass, C
// its collectives and s what they cost the compute beside them (the row's factor), it takes max(C, W + C (1 - 1/s)).
// Nothing without that row. `params`: of the layer, whole.
void gather_shards(OpChain& chain, const LayerContext& c, const ParamCount& params);
bool shards_params(const Profile& profile);

} // namespace tessella
