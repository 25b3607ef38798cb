// What a run found out: plain values that every report renders and no report computes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.h"
#include "sim/domain/ledger.h"
#include "sim/domain/memory.h"
#include "sim/domain/profile.h"
#include "sim/exec/fill_sums.h"
#include "sim/exec/trace_event.h"

namespace tessella {

// How a step's time rests on evidence: fractions of busy op time by provenance of the entry behind each op.
using ProvenanceShares = std::array<double, kNumProvenances>;

// Cost of the simulation itself; the only part of a result that differs between two identical runs.
struct SimStats {
  double wall_s = 0.0;
  std::int64_t events = 0;
  std::int64_t rank_ops = 0;
  std::int64_t peak_rss_bytes = 0;
};

// Who ordered the co-scheduled pairs of the step.
struct PairUse {
  std::string scheduler;     // of the pairs without a given order
  std::string source;        // file of the given orders
  std::int64_t distinct = 0; // pairs of different chunks
  std::int64_t given = 0;    // of them
  double worst_gap = 0.0;    // of any pair's cost at balanced load to its lower bound
  bool operator==(const PairUse&) const = default;
};

struct StageTime {
  Duration
      forward; // compute of one micro-batch of this stage, mean over ranks and micro-batches, communication included
  Duration backward;
  bool operator==(const StageTime&) const = default;
};

// Where a measured step would lie nine times out of ten, from how far the profile was off on measured training runs and
// from how far the simulated steps spread.
struct PredictionInterval {
  Duration low;      // 5 %
  Duration high;     // 95 %
  std::string runs;  // that it was held against: "dense" or "moe"
  Residual residual; // of their step times
  std::string source;
  bool operator==(const PredictionInterval&) const = default;
};

// Steps between two changes of a job: an event begins or ends, or the plan is made anew.
struct RunPhase {
  std::int64_t first_step = 0;
  std::int64_t steps = 0;
  std::vector<std::string> events; // that hold, as described by domain/what_if_event.h
  Duration step_time;              // mean, without the pause
  Duration pause;                  // the job stood still before the first step: part of that step's time
  bool operator==(const RunPhase&) const = default;
};

// A plan made anew because stages no longer took what the profile said.
struct Replanning {
  std::int64_t step = 0; // the first with the new plan
  double error = 0.0;    // observed over planned time of the slowest stage, minus 1, in the step before
  std::string layout;    // the new one, Megatron's
  Duration pause;        // profiling, planning and moving
  Duration before;       // mean step since the last change
  Duration after;        // mean step until the next
  bool operator==(const Replanning&) const = default;

  Duration gain() const { return before - after; } // per step
};

// Experts that moved while the job ran.
struct MigrationSums {
  std::int64_t moves = 0;    // (layer, step) at which experts of a layer moved
  std::int64_t steps = 0;    // with at least one move
  Duration pause;            // their traffic, over all steps
  double ratio_before = 0.0; // sum over moves: busiest rank over the mean, as expected from the step before
  double ratio_after = 0.0;  // and with the new placement
  bool operator==(const MigrationSums&) const = default;
};

// Where to look for more speed, in this order: each cause hides the next. Fractions of the step, mean over ranks.
struct Capacity {
  double stage_imbalance = 0.0;  // after overlap: slowest stage over the mean, minus 1
  double pipeline_idle = 0.0;    // warm-up, drain and dependency, after bubble filling
  double lost_to_stages = 0.0;   // of that idle time, what even stages would give back: 1 - mean / slowest, at most
  double lost_to_routing = 0.0;  // waiting for the busiest rank
  double lost_to_fabric = 0.0;   // collectives that nothing hides
  double lost_to_schedule = 0.0; // the rest of the idle time
  bool operator==(const Capacity&) const = default;
};

// One kind of collective in one step, mean over ranks: planner/step_traffic.h.
struct TrafficRow {
  std::string lane;       // "ep", "tp", "cp"
  std::string collective; // and how far it reaches: "dispatch_deepep fabric", "all_gather node"
  double bytes = 0.0;     // a rank sends
  double alone_s = 0.0;   // with nothing beside it, at balanced load
  bool operator==(const TrafficRow&) const = default;
};

struct RunResult {
  std::vector<Duration> step_times; // one per simulated step that counts
  std::int64_t warm_up = 0;         // steps before them
  Duration step_time;               // mean
  Duration step_time_p05;           // equal to the mean for a single step
  Duration step_time_p95;
  Duration step_time_ci95; // half width of the 95 % confidence interval of the mean; 0 for a single step
  std::optional<PredictionInterval> prediction; // nothing when the profile was never held against such runs
  double correlation_steps = 1;                 // steps that carry the information of one independent step
  bool precise = false;                         // stopped before the last step because the mean was known well enough
  std::vector<RunPhase> phases;                 // one for a job to which nothing happens
  std::vector<Replanning> replannings;
  MigrationSums migration;
  LedgerRow ledger_sum;             // over all ranks and steps: divide by (ranks * sum of step times)
  std::vector<LedgerRow> rank_rows; // per global rank, first step that counts
  Duration ep_busy_sum;             // time expert all-to-alls moved data, over ranks and steps; hidden or exposed
  std::vector<StageTime> stages;
  Flops model_flops;    // of one step, whole job
  Flops hardware_flops; // with recompute
  double tokens_per_s_per_gpu = 0.0;
  double tflops_per_gpu = 0.0;
  double mfu = 0.0;
  double hfu = 0.0;
  double ep_hidden_fraction = 0.0; // 1 when there is nothing to hide
  double stage_imbalance = 0.0;    // max / mean over stages of F + B, minus 1
  Capacity capacity;
  double load_imbalance_mean = 1.0; // max / mean tokens per EP rank, over layers and micro-batches
  double load_imbalance_max = 1.0;
  double dropped = 0.0;         // share of the routed rows that no expert took
  Duration filled_bubble;       // idle time used by the bubble filler, mean over ranks and steps; 0 without one
  Duration fill_overrun;        // by which its fills made ranks late, mean over ranks and steps
  FillSums fill;                // sums over all ranks and steps
  std::optional<PairUse> pairs; // nothing: the schedule has none, or its profile says nothing of how they overlap
  MemoryReport memory;
  ProvenanceShares provenance{};
  std::int64_t simulated_replicas = 0; // < replicas when identical ones were folded
  bool partial = false;                // interrupted
  std::vector<std::string> warnings;
  // [MoE layer][EP rank]: routed rows received by one EP group in the first step, over its micro-batches. Empty for a
  // dense model, and when nobody asked (exec/routed_loads.h).
  std::vector<std::vector<std::int64_t>> load_rows;
  std::vector<TrafficRow> traffic; // empty when nobody asked
  std::vector<std::string> lanes;  // names, for TraceEvent::lane
  std::vector<TraceEvent> events;  // only for the chosen ranks and steps
  std::vector<TraceFlow> flows;
  SimStats sim;
};

} // namespace tessella
