// What a job sends, added up: one row per kind of communication, phase and group. Filled by the readers of other tools'
// workloads and traces; sim/report/comm_ledger.h prints it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"

namespace tessella {

struct CommRow {
  std::string type;  // as its source writes it: ALLTOALL_EP, ALL_REDUCE, SEND
  std::string phase; // "forward", "input_grad", "weight_grad"; empty when the source does not say
  std::string group; // of the source; empty when it does not say
  std::int64_t count = 0;
  Bytes bytes; // sum; of each: as the source defines its size
  Bytes largest;
  bool operator==(const CommRow&) const = default;
};

using CommLedger = std::vector<CommRow>; // in order of first appearance

// O(rows). The sum saturates far above any real job (2^62 bytes).
void add(CommLedger& ledger, const std::string& type, const std::string& phase, const std::string& group, Bytes bytes);

} // namespace tessella
