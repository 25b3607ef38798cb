#include "sim/domain/ledger.h"

#include <cstddef>

namespace tessella {

const char* name(Share share) {
  constexpr const char* names[] = {"compute",       "overlapped",   "exposed_ep",        "exposed_tp",
                                   "exposed_cp",    "exposed_pp",   "exposed_dp",        "imbalance",
                                   "bubble_warmup", "bubble_drain", "bubble_dependency", "optimizer"};
  return names[static_cast<std::size_t>(share)];
}

Duration LedgerRow::total() const {
  Duration sum;
  for (const Duration d : share) sum += d;
  return sum;
}

LedgerRow& LedgerRow::operator+=(const LedgerRow& o) {
  for (std::size_t i = 0; i < share.size(); ++i) share[i] += o.share[i];
  return *this;
}

} // namespace tessella
