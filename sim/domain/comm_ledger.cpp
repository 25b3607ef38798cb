#include "sim/domain/comm_ledger.h"

#include <algorithm>

namespace tessella {

void add(CommLedger& ledger, const std::string& type, const std::string& phase, const std::string& group, Bytes bytes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  auto row = std::find_if(ledger.begin(), ledger.end(),
                          [&](const CommRow& r) { return r.type == type && r.phase == phase && r.group == group; });
  if (row == ledger.end()) row = ledger.insert(ledger.end(), {type, phase, group, 0, {}, {}});
  ++row->count;
  row->bytes.count = bytes.count > kMost - row->bytes.count ? kMost : row->bytes.count + bytes.count;
  row->largest.count = std::max(row->largest.count, bytes.count);
}

} // namespace tessella
