// The rows are one long function on purpose: it is a table.
#include "sim/schedule/table.h"

#include <algorithm>
#include <cctype>

#include "sim/schedule/rules.h"

namespace tessella {
namespace {

std::vector<ScheduleInfo> rows() {
  return {
      {.name = "gpipe",
       .description = "all forwards, then all backwards",
       .constraints = "vpp = 1; any m",
       .generate = gpipe,
       .rule = kAnyMicroBatches},
      {.name = "1f1b",
       .aliases = {"one_f_one_b", "dapple", "pipedream_flush"},
       .description = "warm-up, then one forward and one backward in turn: the bubble of gpipe, p - r activations",
       .constraints = "vpp = 1; any m, slow below p",
       .generate = one_f_one_b,
       .rule = kAnyMicroBatches},
      {.name = "interleaved_1f1b",
       .aliases = {"interleaved", "vpp"},
       .description = "1F1B over v chunks per rank (Megatron): the bubble divided by v, more activations and sends",
       .constraints = "p >= 2; vpp >= 2; p <= N <= m; m mod N is 0 or >= p (N = microbatch group size, default p)",
       .generate = interleaved_1f1b,
       .uses_group_size = true,
       .min_pp = 2,
       .min_vpp = 2,
       .max_vpp = std::nullopt,
       .rule = kMegatronGroups},
      {.name = "interleaved_1f1b_torch",
       .aliases = {"torch_interleaved"},
       .description = "interleaved 1F1B with torch's group size m / max(1, m div p)",
       .constraints = "p >= 2; vpp >= 2; m mod max(1, m div p) = 0",
       .generate = interleaved_1f1b_torch,
       .min_pp = 2,
       .min_vpp = 2,
       .max_vpp = std::nullopt,
       .rule = kTorchRounds},
      {.name = "interleaved_1f1b_shadow",
       .aliases = {"shadow_interleaved"},
       .description = "interleaved 1F1B padded with shadow micro-batches where m does not fit (Tessera)",
       .constraints = "p >= 2; vpp >= 2; any m",
       .generate = interleaved_1f1b_shadow,
       .uses_group_size = true,
       .min_pp = 2,
       .min_vpp = 2,
       .max_vpp = std::nullopt,
       .rule = kAnyMicroBatches},
      {.name = "combined_1f1b",
       .aliases = {"ep_overlap_1f1b"},
       .description = "interleaved 1F1B, forward and backward paired to hide expert all-to-alls (Megatron)",
       .constraints = "any p and vpp; with chunks p <= N <= m and m mod N is 0 or >= p",
       .generate = combined_1f1b,
       .has_pairs = true,
       .uses_group_size = true,
       .max_vpp = std::nullopt,
       .rule = kMegatronGroups},
      {.name = "combined_1f1b_shadow",
       .description = "combined 1F1B padded with shadow micro-batches where m does not fit",
       .constraints = "any p, vpp and m",
       .generate = combined_1f1b_shadow,
       .has_pairs = true,
       .uses_group_size = true,
       .max_vpp = std::nullopt,
       .rule = kAnyMicroBatches},
      {.name = "looped_bfs",
       .aliases = {"breadth_first"},
       .description = "gpipe over v chunks, a stage at a time: weights are used once per pass",
       .constraints = "any vpp and m",
       .generate = looped_bfs,
       .max_vpp = std::nullopt,
       .rule = kAnyMicroBatches},
      {.name = "zb_h1",
       .aliases = {"zb1p"},
       .description = "1F1B with the weight gradient split off to fill bubbles, memory of 1f1b's first rank everywhere",
       .constraints = "vpp = 1; any m",
       .generate = zb_h1,
       .splits_backward = true,
       .rule = kAnyMicroBatches},
      {.name = "zb_h2",
       .aliases = {"zb2p"},
       .description = "no bubble inside a rank's span when F = I = W, for twice the memory",
       .constraints = "vpp = 1; any m, zero bubble from 2p - 1",
       .generate = zb_h2,
       .splits_backward = true,
       .rule = kAnyMicroBatches},
      {.name = "interleaved_zb",
       .aliases = {"interleaved_zero_bubble"},
       .description = "zb_h1 over v chunks per rank (torch InterleavedZeroBubble)",
       .constraints = "any vpp; m mod max(1, m div p) = 0",
       .generate = interleaved_zb,
       .splits_backward = true,
       .max_vpp = std::nullopt,
       .rule = kTorchRounds},
      {.name = "zb_v",
       .aliases = {"zbv_zero_bubble"},
       .description = "two chunks in a V, no bubble inside a rank's span when F = I = W, memory of 1f1b",
       .constraints = "vpp = 2; any m, zero bubble from 2p - 1",
       .generate = zb_v,
       .splits_backward = true,
       .min_vpp = 2,
       .max_vpp = 2,
       .rule = kAnyMicroBatches},
      {.name = "v_half",
       .description = "two chunks in a V, half the memory of 1f1b, about half its bubble",
       .constraints = "vpp = 2; any m",
       .generate = v_half,
       .splits_backward = true,
       .min_vpp = 2,
       .max_vpp = 2,
       .rule = kAnyMicroBatches},
      {.name = "v_min",
       .description = "two chunks in a V, a third of the memory of 1f1b, about two thirds of its bubble",
       .constraints = "vpp = 2; any m",
       .generate = v_min,
       .splits_backward = true,
       .min_vpp = 2,
       .max_vpp = 2,
       .rule = kAnyMicroBatches},
      {.name = "dualpipe",
       .description = "two directions, forwards paired with backwards (DeepSeek-V3): p + 1 activations, weights twice",
       .constraints = "p even; vpp = 1; m even, m >= 2p",
       .generate = dualpipe,
       .splits_backward = true,
       .has_pairs = true,
       .two_directions = true,
       .even_pp = true,
       .min_pp = 2,
       .rule = kDualPipe},
      {.name = "dualpipe_v",
       .description = "dualpipe folded into a V of two chunks per rank: no weight is held twice",
       .constraints = "vpp = 2; m >= 2p",
       .generate = dualpipe_v,
       .splits_backward = true,
       .has_pairs = true,
       .min_vpp = 2,
       .max_vpp = 2,
       .rule = kTwicePp},
      {.name = "chimera",
       .description = "two directions, half the micro-batches each: p - 2 slots of bubble when F = B, weights twice",
       .constraints = "p even; vpp = 1; m mod p = 0",
       .generate = chimera,
       .two_directions = true,
       .even_pp = true,
       .min_pp = 2,
       .rule = kMultipleOfPp},
  };
}

std::string fold(std::string_view name) {
  std::string folded;
  for (const char c : name)
    if (c != '-' && c != '_') folded += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return folded;
}

} // namespace

std::span<const ScheduleInfo> schedule_table() {
  static const std::vector<ScheduleInfo> table = rows();
  return table;
}

const ScheduleInfo* find_schedule(std::string_view name) {
  const std::string wanted = fold(name);
  for (const ScheduleInfo& row : schedule_table()) {
    const auto same = [&](std::string_view known) { return fold(known) == wanted; };
    if (same(row.name) || std::any_of(row.aliases.begin(), row.aliases.end(), same)) return &row;
  }
  return nullptr;
}

} // namespace tessella
