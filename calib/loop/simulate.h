// The same plan, simulated: files that describe it truthfully, one run of the program `tessella`, and what it answered.
// The two programs share nothing but the files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calib/host/host_profile.h"
#include "calib/loop/plan.h"
#include "sim/domain/schedule.h"

namespace tessella::calib {

// A slice of the simulator's trace.
struct SimulatedOp {
  int rank = 0;
  std::string lane;
  std::string name; // "0F3 attention_fwd"
  Action action;
  bool in_action = false;
  double begin = 0.0; // seconds
  double end = 0.0;
};

struct SimulatedStep {
  double seconds = 0.0;
  double exposed_ep = 0.0; // shares of the step, mean over ranks
  double exposed_pp = 0.0;
  double exposed_dp = 0.0;
  double imbalance = 0.0;
  double bubble = 0.0;
  std::vector<SimulatedOp> ops; // as in the trace
};

// Writes model.yaml, topology.yaml, profile.yaml and PLAN.yaml into `folder`.
std::string write_experiment(const std::string& folder, const LoopModel& model, const LoopPlan& plan,
                             const HostFit& fit);

// Runs `tessella run` on it, for all ranks. Throws InputError with the program's own message when it fails.
SimulatedStep simulate(const std::string& tessella, const std::string& folder, const LoopPlan& plan);

// Reads the answer (--json) and the trace (--trace) of one run; for tests.
SimulatedStep read_simulation(const std::string& json_file, const std::string& trace_file);

} // namespace tessella::calib
