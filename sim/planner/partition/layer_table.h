// What every layer of a model costs one rank and micro-batch, alone on the GPU and at balanced load, as sums a planner
// can add up: prefix sums over the decoder layers, so a stage of any length costs O(1). The numbers are those of
// sim/cost/layer_ops.h; nothing is estimated here.
#pragma once

#include <vector>

#include "sim/cost/layer_ops.h"
#include "sim/domain/plan.h"
#include "sim/domain/scenario.h"
#include "sim/planner/partition/partition_dp.h"

namespace tessella {

// One pass over a layer or a stage. Compute and blocking collectives (TP, CP) share the compute lane.
struct PassTimes {
  Duration compute;
  Duration blocking;
  Duration exchange; // expert all-to-alls

  Duration compute_lane() const { return compute + blocking; }
  Duration serial() const { return compute + blocking + exchange; }
  PassTimes& operator+=(const PassTimes& o);
  PassTimes& operator-=(const PassTimes& o);
  bool operator==(const PassTimes&) const = default;
};

struct PieceTimes {
  PassTimes forward;
  PassTimes input_grad;
  PassTimes weight_grad;

  PassTimes backward() const; // input and weight gradient
  Duration serial() const { return forward.serial() + backward().serial(); }
  LayerTimes layer_times() const; // what an additive cost model sees
  PieceTimes& operator+=(const PieceTimes& o);
  PieceTimes& operator-=(const PieceTimes& o);
  bool operator==(const PieceTimes&) const = default;
};

// Compute-lane work of the whole model and one micro-batch that an expert exchange beside it slows by one factor.
struct SlowedWork {
  double factor = 1.0;
  Duration work;
  bool operator==(const SlowedWork&) const = default;
};

class LayerTable {
 public:
  LayerTable(const Scenario& scenario, const ModelOps& ops);

  std::int32_t num_layers() const { return static_cast<std::int32_t>(upto_.size()) - 1; }
  PieceTimes layer(std::int32_t i) const { return layers(i, i + 1); }
  PieceTimes layers(std::int32_t first, std::int32_t end) const;
  PieceTimes stage(const StageContent& content) const;
  // What does not move: embedding on the first stage, MTP and head on the last.
  const PieceTimes& embedding() const { return embedding_; }
  const PieceTimes& head() const { return head_; }
  const PieceTimes& mtp() const { return mtp_; }                         // one block
  const std::vector<SlowedWork>& slowed_work() const { return slowed_; } // ascending by factor

 private:
  std::vector<PieceTimes> upto_; // [i] sum of the layers before i
  PieceTimes embedding_, head_, mtp_;
  std::vector<SlowedWork> slowed_;
};

} // namespace tessella
