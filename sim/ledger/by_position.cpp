#include "sim/ledger/by_position.h"

#include "sim/base/check.h"

namespace tessella {

std::vector<LedgerRow> ledger_by_position(std::span<const LedgerRow> rows, std::int64_t pp) {
  if (rows.empty()) return {};
  const auto positions = static_cast<std::size_t>(pp);
  TSL_CHECK_OP(rows.size() % positions, ==, std::size_t{0});
  std::vector<LedgerRow> sums(positions);
  const std::size_t each = rows.size() / positions;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) sums[rank / each] += rows[rank];
  return sums;
}

} // namespace tessella
