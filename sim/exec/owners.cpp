#include "sim/exec/owners.h"

#include <algorithm>
#include <limits>

#include "sim/base/check.h"

namespace tessella {

std::vector<std::int16_t> owners(const Schedule& schedule) {
  constexpr std::int16_t nobody = std::numeric_limits<std::int16_t>::max();
  const auto micro_batches = static_cast<std::size_t>(schedule.num_micro_batches);
  TSL_CHECK_OP(schedule.num_ranks, <, nobody);
  std::vector<std::int16_t> owner(static_cast<std::size_t>(schedule.num_stages) * micro_batches, nobody);
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (const Slot& slot : schedule.ranks[rank])
      for (const Action* a : {&slot.first, slot.second ? &*slot.second : nullptr})
        if (a && a->kind == ActionKind::F)
          owner[static_cast<std::size_t>(a->stage.value) * micro_batches +
                static_cast<std::size_t>(a->micro_batch.value)] = static_cast<std::int16_t>(rank);
  TSL_CHECK(std::find(owner.begin(), owner.end(), nobody) == owner.end());
  return owner;
}

} // namespace tessella
