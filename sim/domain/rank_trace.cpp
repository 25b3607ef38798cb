#include "sim/domain/rank_trace.h"

namespace tessella {

CommLedger ledger_of(const RankTrace& trace) {
  CommLedger ledger;
  for (const TraceNode& n : trace.nodes)
    if (n.kind != TraceNode::Kind::compute)
      add(ledger,
          n.kind == TraceNode::Kind::send      ? "SEND"
          : n.kind == TraceNode::Kind::receive ? "RECV"
                                               : n.collective,
          "", n.group, n.size);
  return ledger;
}

} // namespace tessella
