// The ledger of each pipeline position: which rank of the pipeline waits, and for what.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/domain/ledger.h"

namespace tessella {

// `rows`: one per global rank, pipeline rank slowest; their number is a multiple of `pp`. Sums over the ranks of each
// position; empty for no rows. O(rows).
std::vector<LedgerRow> ledger_by_position(std::span<const LedgerRow> rows, std::int64_t pp);

} // namespace tessella
