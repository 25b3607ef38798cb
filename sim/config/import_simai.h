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
#include "sim/domain/comm_ledger.h"
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

// Of one rank, for one pass over the lines of the file.
CommLedger ledger_of(const SimaiWorkload& workload);

// The job that the workload was written for, as an experiment. The file does not name the model, the micro-batch or the
// sequence length, so the caller does; gbs = ga * mbs * dp. Routing is balanced, as in the workload.
struct SimaiJob {
  std::string name;
  std::string model;
  std::string topology;
  std::string profile;
  std::int64_t micro_batch_size = 1;
  std::int64_t seq_length = 0;
};
std::string experiment_of(const SimaiWorkload& workload, const SimaiJob& job);

} // namespace tessella
