// Sums per pipeline position.
#include <doctest/doctest.h>

#include "sim/ledger/by_position.h"

using namespace tessella;

TEST_CASE("Ranks of a position are added up; the pipeline rank is the slowest coordinate") {
  std::vector<LedgerRow> rows(6);
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    rows[rank][Share::compute] = {static_cast<std::int64_t>(rank) + 1};
    rows[rank][Share::bubble_drain] = {10};
  }
  const std::vector<LedgerRow> sums = ledger_by_position(rows, 2);
  REQUIRE(sums.size() == 2);
  CHECK(sums[0][Share::compute] == Duration{1 + 2 + 3});
  CHECK(sums[1][Share::compute] == Duration{4 + 5 + 6});
  CHECK(sums[0].total() == Duration{6 + 30});
  CHECK(sums[1].total() == Duration{15 + 30});
}

TEST_CASE("No rows, no positions") {
  CHECK(ledger_by_position({}, 4).empty());
}
