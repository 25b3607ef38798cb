// SimAI / AICB workload files: the header says how the job is cut, each line what a layer computes and sends. We read
// the header and the communication sizes; 64-bit throughout, because real files exceed 2^32 bytes.
//
//   HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 16 pp: 12 vpp: 8 ga: 24 all_gpus: 9216 ... pp_comm
//   50331648 <number of lines> grad_param_comm -1 1 NONE 0 1 NONE 0 1 REDUCESCATTER 5615517696 100
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/domain/parallelism.h"

namespace tessella {

// One collective of a line; "NONE" ones are left out.
struct SimaiCollective {
  std::string layer; // the line's first word
  std::string phase; // "forward", "input_grad", "weight_grad"
  std::string type;  // as written: ALLGATHER, REDUCESCATTER, ALLTOALL_EP, ...
  Bytes size;
  bool operator==(const SimaiCollective&) const = default;
};

struct SimaiWorkload {
  Parallelism parallelism;        // tp, ep, pp, vpp, world_size
  std::int64_t micro_batches = 0; // ga
  Bytes pp_message;               // pp_comm
  std::vector<SimaiCollective> collectives;
  std::vector<std::string> ignored; // header words that say nothing to us
  bool operator==(const SimaiWorkload&) const = default;
};

// `pp_comm` may or may not have a colon. Errors: InputError with the position. O(length).
SimaiWorkload parse_simai(const std::string& file_name, const std::string& text);

} // namespace tessella
