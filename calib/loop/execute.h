// Runs a plan for real: one thread per rank, each executing its list of actions as a training step would: receive,
// compute, exchange, send; then gradient reduction, gradient norm and optimizer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "calib/host/crew.h"
#include "calib/loop/plan.h"
#include "calib/loop/recorder.h"

namespace tessella::calib {

struct ExecutedStep {
  double seconds = 0.0;                       // first rank in to last rank out
  double disturbed = 0.0;                     // the longest a rank was kept from running
  double loss = 0.0;                          // mean over all tokens of the step
  std::vector<std::vector<LoopEvent>> events; // [rank], in order
};

// A step was disturbed when a rank was kept from running for more than this share of it.
inline constexpr double kDisturbedShare = 0.01;

// The state of a plan between rounds: weights, contexts, messages.
class PlanExecution {
 public:
  PlanExecution(const LoopModel& model, const LoopPlan& plan);
  ~PlanExecution();
  PlanExecution(PlanExecution&&) noexcept;

  // Runs `warmup` steps, then until `wanted` undisturbed steps are there or `limit` were run; returns all after the
  // warm-up.
  std::vector<ExecutedStep> run(int warmup, int wanted, int limit);

  // Parameters that rank 0 .. world-1 holds (weights of its stages and its experts).
  std::vector<std::int64_t> parameters_per_rank() const;
  // Of those, the ones whose gradients the group sums.
  std::vector<std::int64_t> dense_parameters_per_rank() const;
  // Sum of squares of all gradients in the last step, before clipping: equal for plans that compute the same step.
  double last_gradient_norm() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tessella::calib
