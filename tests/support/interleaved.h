// Megatron-LM's 1F1B and interleaved 1F1B, written down a second time: the memory tests need a real order and must not
// depend on the generators they help to check. Micro-batches must be a multiple of the group.
#pragma once

#include <algorithm>

#include "sim/domain/schedule.h"

namespace tessella::test {

inline Action chunk_action(std::int64_t step, ActionKind kind, std::int64_t p, std::int64_t v, std::int64_t group,
                           std::int64_t rank) {
  const std::int64_t in_round = step % (group * v);
  const std::int64_t chunk = kind == ActionKind::F ? in_round / group : v - 1 - in_round / group;
  const std::int64_t micro_batch = step / (group * v) * group + in_round % group;
  return {Stage{static_cast<std::int32_t>(chunk * p + rank)}, kind, MicroBatch{static_cast<std::int32_t>(micro_batch)}};
}

inline Schedule interleaved_1f1b(std::int64_t p, std::int64_t v, std::int64_t m, std::int64_t group) {
  Schedule s;
  s.name = "interleaved_1f1b";
  s.num_ranks = static_cast<std::int32_t>(p);
  s.num_stages = static_cast<std::int32_t>(p * v);
  s.num_micro_batches = static_cast<std::int32_t>(m);
  for (std::int32_t stage = 0; stage < s.num_stages; ++stage)
    s.stage_ranks.push_back({PpRank{static_cast<std::int32_t>(stage % p)}});
  for (std::int64_t r = 0; r < p; ++r) {
    const std::int64_t total = m * v;
    const std::int64_t warmup = std::min(total, v == 1 ? p - r - 1 : (p - r - 1) * 2 + (v - 1) * group);
    std::vector<Slot> slots;
    for (std::int64_t k = 0; k < total + warmup; ++k) {
      if (k < total) slots.push_back({chunk_action(k, ActionKind::F, p, v, group, r), {}});
      if (k >= warmup) slots.push_back({chunk_action(k - warmup, ActionKind::B, p, v, group, r), {}});
    }
    s.ranks.push_back(slots);
  }
  return s;
}

} // namespace tessella::test
