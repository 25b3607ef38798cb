// One rank's step as nodes that depend on earlier ones: what execution traces of other tools carry.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/domain/comm_ledger.h"

namespace tessella {

struct TraceNode {
  enum class Kind : std::uint8_t { compute, collective, send, receive };

  Kind kind = Kind::compute;
  std::string name;       // "2F0 dispatch_fwd"
  std::string collective; // "ALL_TO_ALL", "ALL_GATHER", ...; empty for others
  std::string group;      // "ep", "tp", "etp", "cp", "dp", "expert_dp"; empty for others
  Bytes size;             // input of a collective on this rank; message
  std::int32_t peer = 0;  // of a message: global rank
  std::int32_t tag = 0;   // of a message: equal at both ends
  Time begin;
  Duration duration;
  std::vector<std::size_t> after; // places of the nodes it waits for; all smaller than its own
  bool operator==(const TraceNode&) const = default;
};

struct RankTrace {
  std::int32_t rank = 0;
  std::vector<TraceNode> nodes; // by begin
  bool operator==(const RankTrace&) const = default;
};

// Of the whole trace, one row per collective and group. O(nodes * rows).
CommLedger ledger_of(const RankTrace& trace);

} // namespace tessella
