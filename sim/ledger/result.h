// What a run found out: plain values that every report renders and no report computes.
#pragma once

#include <array>
#include <cstdint>
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

struct StageTime {
  Duration
      forward; // compute of one micro-batch of this stage, mean over ranks and micro-batches, communication included
  Duration backward;
  bool operator==(const StageTime&) const = default;
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
  std::vector<Duration> step_times; // one per simulated step
  Duration step_time;               // mean
  Duration step_time_p05;           // equal to the mean for a single step
  Duration step_time_p95;
  Duration step_time_ci95;          // half width of the 95 % confidence interval of the mean; 0 for a single step
  double correlation_steps = 1;     // steps that carry the information of one independent step
  bool precise = false;             // stopped before the last step because the mean was known well enough
  LedgerRow ledger_sum;             // over all ranks and steps: divide by (ranks * sum of step times)
  std::vector<LedgerRow> rank_rows; // per global rank, first step
  Duration ep_busy_sum;             // time expert all-to-alls moved data, over ranks and steps; hidden or exposed
  std::vector<StageTime> stages;
  Flops model_flops;    // of one step, whole job
  Flops hardware_flops; // with recompute
  double tokens_per_s_per_gpu = 0.0;
  double tflops_per_gpu = 0.0;
  double mfu = 0.0;
  double hfu = 0.0;
  double ep_hidden_fraction = 0.0;  // 1 when there is nothing to hide
  double stage_imbalance = 0.0;     // max / mean over stages of F + B, minus 1
  double load_imbalance_mean = 1.0; // max / mean tokens per EP rank, over layers and micro-batches
  double load_imbalance_max = 1.0;
  Duration filled_bubble; // idle time used by the bubble filler, mean over ranks and steps; 0 without one
  Duration fill_overrun;  // by which its fills made ranks late, mean over ranks and steps
  FillSums fill;          // sums over all ranks and steps
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
