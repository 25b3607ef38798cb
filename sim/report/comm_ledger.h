// A communication ledger as a table, and as CSV.
#pragma once

#include <string>

#include "sim/domain/comm_ledger.h"

namespace tessella {

std::string comm_ledger_text(const CommLedger& ledger);

// type,phase,group,count,bytes,largest_bytes
std::string comm_ledger_csv(const CommLedger& ledger);

} // namespace tessella
