// What a run hands to the accountants: sums per rank, per stage and over the whole job. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/domain/ledger.h"
#include "sim/domain/profile.h"
#include "sim/exec/fill_sums.h"
#include "sim/exec/trace_event.h"

namespace tessella {

// Which ranks and steps to trace; empty = nothing is traced.
struct TraceRequest {
  std::vector<std::int32_t> ranks; // global, sorted
  std::vector<std::int32_t> steps;
};

// Sums over the ranks and micro-batches of one replica; add up in replica order.
struct ReplicaSums {
  std::vector<Duration> stage_forward;  // [stage], summed over ranks and micro-batches
  std::vector<Duration> stage_backward; // B, I and W
  std::array<Duration, kNumProvenances> busy_by_provenance{};
  Duration ep_moving;
  double load_ratio_sum = 0.0; // max / mean per (MoE layer op, micro-batch)
  double load_ratio_max = 1.0;
  double dropped_sum = 0.0;   // share of the routed rows that no expert took, likewise
  double held_load_max = 1.0; // most rows a rank received over all layers and micro-batches, over its even share
  std::int64_t load_samples = 0;
  FillSums fill;                             // of the bubble filler
  std::vector<std::int64_t> pool_peak_bytes; // [position] most that its deferred tasks of one rank held
  std::int64_t events = 0;
  std::int64_t rank_ops = 0;
  ReplicaSums& operator+=(const ReplicaSums& o);
  void keep_peaks(const ReplicaSums& o); // of memory, and what the simulation itself cost
};

struct StepRecord {
  Duration makespan;
  LedgerRow ledger_sum;   // over all ranks
  Duration slowest_stage; // F + B of one micro-batch, mean over ranks and micro-batches
};

struct RunRecords {
  std::vector<StepRecord> steps;
  std::int64_t warm_up = 0;            // the first of them do not count
  std::vector<LedgerRow> rank_rows;    // per global rank, first step that counts
  ReplicaSums sums;                    // over all steps that count; peaks over all
  std::int64_t simulated_replicas = 0; // per step
  bool enough = false;                 // ended early because RunOptions::enough said so
  bool partial = false;                // stopped before all steps were done
  std::vector<TraceEvent> events;
  std::vector<TraceFlow> flows;
};

} // namespace tessella
