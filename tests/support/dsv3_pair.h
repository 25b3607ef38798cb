// A forward and a backward chunk of four DeepSeek-V3 layers as they ran side by side on H800: busy time per task from
// deepseek-ai/profile-data (train.json, commit 4496024), exchanges with the kernels that notify and wait. Times were
// measured under contention, so nothing slows them again. The pair took 129.012 ms.
#pragma once

#include <fmt/format.h>

#include <array>

#include "tests/support/pairs.h"

namespace tessella::testing {

struct Dsv3Step { // the k-th layer of the forward beside the k-th of the backward, in microseconds
  std::int64_t attn_f, dispatch_f, mlp_f, combine_f;
  std::int64_t combine_b, mlp_b, mlp_w, dispatch_b, attn_b, attn_w;
};
inline constexpr std::array<Dsv3Step, 4> kDsv3Steps = {{
    {4311, 6059, 4250, 7325, 4380, 5693, 5333, 7302, 9018, 2375},
    {4263, 5706, 4384, 8260, 5224, 5408, 5059, 7909, 9368, 2382},
    {4438, 7077, 5175, 9521, 6207, 5407, 5260, 7271, 9452, 2392},
    {4467, 7919, 4606, 9630, 7266, 4716, 4639, 7465, 9525, 2405},
}};

inline PairProblem dsv3_pair() {
  PairBuilder b({ActionKind::F, ActionKind::B}, 1'000'000);
  const auto name = [](const char* task, std::size_t piece) { return fmt::format("{}.{}", task, piece); };
  for (std::size_t k = 0; k < 4; ++k) {
    const Dsv3Step& s = kDsv3Steps[k];
    b.add(name("F_ATTN", k), s.attn_f).add(name("F_DISP", k), s.dispatch_f);
    b.add(name("F_MLP", k), s.mlp_f).add(name("F_COMB", k), s.combine_f);
  }
  for (std::size_t k = 0; k < 4; ++k) {
    const Dsv3Step& s = kDsv3Steps[k];
    b.add(name("B_COMB", 3 - k), s.combine_b).add(name("B_MLP", 3 - k), s.mlp_b);
    b.movable(name("B_WGRAD_MLP", 3 - k), s.mlp_w).add(name("B_DISP", 3 - k), s.dispatch_b);
    b.add(name("B_ATTN", 3 - k), s.attn_b).movable(name("B_WGRAD_ATTN", 3 - k), s.attn_w);
  }
  return b.problem;
}

// Streams 7 and 27 of the trace.
inline PairPlan dsv3_shipped_order() {
  PairPlan plan;
  const auto task = [&](const char* name, std::size_t piece) {
    return *parse_task(fmt::format("{}.{}", name, piece), plan.passes);
  };
  for (std::size_t k = 0; k < 4; ++k) {
    const std::size_t back = 3 - k;
    for (const TaskId& id : {task("F_ATTN", k), task("B_MLP", back), task("B_WGRAD_MLP", back), task("F_MLP", k),
                             task("B_ATTN", back), task("B_WGRAD_ATTN", back)})
      plan.compute.push_back(id);
    for (const TaskId& id : {task("B_COMB", back), task("F_DISP", k), task("B_DISP", back), task("F_COMB", k)})
      plan.ep.push_back(id);
  }
  return plan;
}

} // namespace tessella::testing
