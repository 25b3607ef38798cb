// Executed against simulated: step time, time of every stage, order of actions, shares of exposed communication.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calib/loop/execute.h"
#include "calib/loop/simulate.h"
#include "calib/protocol/statistics.h"

namespace tessella::calib {

// One action of one stage, from its first op to its last: the median over micro-batches and ranks.
struct StageTime {
  int stage = 0;
  ActionKind kind = ActionKind::F;
  double measured = 0.0; // seconds
  double simulated = 0.0;
};

// Shares of the step, mean over ranks, as the simulator's ledger defines them.
struct Shares {
  double exposed_ep = 0.0; // transfer of dispatch and combine
  double exposed_pp = 0.0; // waiting for a message on its way
  double exposed_dp = 0.0; // gradient reduction and norm
  double imbalance = 0.0;  // waiting for late ranks of the group
  double bubble = 0.0;     // waiting for a message that was not sent yet, and for the last rank at the end
};

struct Comparison {
  LoopPlan plan;
  Summary step; // of the undisturbed steps, seconds
  std::int64_t disturbed = 0;
  double simulated = 0.0; // seconds
  double error = 0.0;     // simulated / measured - 1
  bool same_order = false;
  std::string order_difference; // the first, when there is one
  std::vector<StageTime> stages;
  Shares measured_shares;
  Shares simulated_shares;
};

// `steps` as executed; when all were disturbed, the least disturbed quarter stands in and Comparison::step says so by
// its scatter.
Comparison compare(const LoopPlan& plan, const std::vector<ExecutedStep>& steps, const SimulatedStep& simulated);

// The step whose time is nearest to the median of the undisturbed ones.
const ExecutedStep& typical_step(const std::vector<ExecutedStep>& steps);

// A Chrome trace with both: processes "measured rank r" above "simulated rank r", on one time axis.
std::string side_by_side_trace(const ExecutedStep& measured, const SimulatedStep& simulated);

// Pairs of plans whose measured times differ by more than `margin`: how many, and in how many the simulation has the
// other order.
struct Ranking {
  std::int64_t pairs = 0;
  std::int64_t wrong = 0;
};
Ranking rank_pairs(const std::vector<Comparison>& all, double margin);

} // namespace tessella::calib
