#include "sim/schedule/slot_index.h"

namespace tessella {

SlotIndex::SlotIndex(const Schedule& schedule)
    : num_micro_batches_(static_cast<std::size_t>(schedule.num_micro_batches)) {
  for (auto& table : at_) table.resize(static_cast<std::size_t>(schedule.num_stages) * num_micro_batches_);
  for (std::int32_t r = 0; r < schedule.num_ranks; ++r) {
    const auto& slots = schedule.ranks[static_cast<std::size_t>(r)];
    for (std::size_t i = 0; i < slots.size(); ++i) {
      for_each_action(slots[i], [&](const Action& a) {
        at_[static_cast<std::size_t>(pass_of(a.kind))][key(a.stage.value, a.micro_batch.value)] =
            SlotRef{PpRank{r}, static_cast<std::int32_t>(i)};
      });
    }
  }
}

} // namespace tessella
