#include "sim/planner/replan.h"

#include <algorithm>
#include <cmath>

#include "sim/planner/partition/refine.h"

namespace tessella {

double stage_error(const StepRecord& step, Duration planned) {
  return planned == Duration{} ? 0.0 : step.slowest_stage.seconds() / planned.seconds() - 1.0;
}

bool should_replan(const ReplanSpec& spec, const std::vector<StepRecord>& steps, Duration planned) {
  const auto patience = static_cast<std::size_t>(spec.patience);
  if (!spec.on || steps.size() < patience) return false;
  return std::all_of(steps.end() - static_cast<std::ptrdiff_t>(patience), steps.end(),
                     [&](const StepRecord& s) { return std::abs(stage_error(s, planned)) > spec.tolerance; });
}

NewPlan better_partition(const Partition& start,
                         const std::function<std::optional<StepRecord>(const Partition&)>& one_step) {
  constexpr int kMoves = 4;
  NewPlan best{start, one_step(start).value()};
  for (int move = 0; move < kMoves; ++move) {
    std::optional<NewPlan> better;
    for (const Partition& p : one_layer_moves(best.partition)) {
      const auto step = one_step(p);
      if (step && step->makespan < (better ? better->step : best.step).makespan) better = NewPlan{p, *step};
    }
    if (!better) break;
    best = std::move(*better);
  }
  return best;
}

} // namespace tessella
