// The closed loop: measure the kernels, execute the plans, simulate the same plans from what was measured, compare.
// Measuring and executing take turns in rounds, so that a machine that slows down or is disturbed in between does not
// favour one of them.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "calib/loop/compare.h"
#include "calib/loop/plan.h"
#include "calib/loop/shapes.h"
#include "calib/protocol/raw_table.h"
#include "calib/protocol/run_record.h"

namespace tessella::calib {

// What the loop measures and executes on: by default this host's cores, or GPUs (calib/device/gpu_loop.h).
class LoopMachine {
 public:
  virtual ~LoopMachine() = default;
  virtual DeviceIdentity identity() const = 0;
  virtual std::int64_t memory_bytes() const = 0; // of a rank
  // What must be measured before the plans can be simulated.
  virtual std::vector<LoopShape> shapes() const = 0;
  virtual RawRow measure(const OpShape& shape) = 0;
  // Steps of a plan after `warmup`: until `wanted` undisturbed ones are there or `limit` were run.
  virtual std::vector<ExecutedStep> run(std::size_t plan, int warmup, int wanted, int limit) = 0;
};

struct ValidateOptions {
  std::string folder;   // for everything it writes; must be empty or new
  std::string tessella; // the simulator
  LoopModel model;
  std::vector<LoopPlan> plans;
  LoopMachine* machine = nullptr; // of this model and these plans; nothing: the host
  int rounds = 3;
  int steps = 8;                               // undisturbed ones, per plan and round
  bool realtime = false;                       // ask for real-time priority while measuring and executing
  bool require_undisturbed = false;            // throw MachineBusy when a plan has no undisturbed step in a round
  std::function<void(const std::string&)> say; // progress, one line each; may be empty
};

// Other programs cut every step short: nothing was learnt.
class MachineBusy : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Validation {
  std::vector<Comparison> plans;
  double median_abs_error = 0.0;
  double max_abs_error = 0.0;
  Ranking ranking;          // margin 5 %
  std::int64_t kernels = 0; // shapes measured
  std::int64_t kernel_samples_dropped = 0;
  // How far the machine itself was from repeating: the largest change between two rounds of a plan's step, or of all
  // kernels of the plans together, as (slowest - fastest) / fastest of the rounds' medians. Says nothing about the
  // simulator, and bounds what can be said about it.
  double drift = 0.0;
  std::string cpu;
  bool realtime = false; // was granted
};

// Writes into the folder: raw.csv, run.json, profile.yaml, model.yaml, topology.yaml, and for each plan its
// experiment, the simulator's answer and PLAN.side_by_side.trace.json; validation.json at the end.
// Throws InputError when the folder is not empty or the simulator fails, and MachineBusy.
Validation validate(const ValidateOptions& options);

// Keys: rows[{id, measured_s, mad_s, steps, disturbed, predicted_s, error, same_order, stages, measured_shares,
// predicted_shares}], overall{...}.
std::string to_json(const Validation& v);
// For people: one line per plan, then the shares of the step.
std::string to_text(const Validation& v);

} // namespace tessella::calib
