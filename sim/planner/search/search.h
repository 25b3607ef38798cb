// Configuration search: every legal way to cut a training job over the GPUs of a cluster, ranked by simulation.
//
//   enumerate  tp, cp, pp, vpp, ep, etp, micro-batch size, recompute, schedule        search_space.h
//   legal      check_legality and check_schedule_spec
//   fits       memory_report of the schedule that would run, at balanced load
//   bound      the certificate's quick lower bounds on step time; costs of one kind of layer are shared by all grids
//              with the same tp, cp, ep, etp, micro-batch and recompute
//   simulate   in order of the bound, in batches, those whose bound is below the worst plan that would be shown; once
//              there are such plans, the certificate's tighter bound (weighted_bound.h) is asked before each simulation
//   place      the fastest plan with expert groups inside a node, inside a leaf group of the fabric and beyond: what
//              keeping them together gains. Groups are blocks of neighbouring ranks (sim/topology/groups.h), so TP, ETP
//              and EP decide
//
// The bound is a true lower bound, so the search loses no plan that belongs among the best. Results do not depend on
// the number of threads. World size, model, global batch, sequence, precision, dispatcher and routing are the
// scenario's. Layers are placed by model FLOPs (baselines.h); `tessella plan` refines the winner.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/domain/scenario.h"
#include "sim/domain/search_result.h"

namespace tessella {

struct SearchOptions {
  std::size_t top = 10;
  double tie = 0.02;
  unsigned threads = 1;
  std::int64_t max_vpp = 8;
  std::int64_t max_micro_batch_size = 4;
  bool explain = false;                    // what more of each resource would buy the fastest plan
  const std::atomic<bool>* stop = nullptr; // ends early with what is known
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

// Throws InfeasiblePlan when nothing is legal or fits: which rule or cap excluded how many, the leanest plan and what
// it lacks. O(legal configurations).
SearchResult search_configurations(const Scenario& scenario, const SearchOptions& options);

// The configurations before any rule, in a fixed order: Scenarios that differ from the given one in parallelism, micro-
// batch size, recompute and schedule; partitions are still empty.
struct Configuration {
  Parallelism parallelism;
  std::int64_t micro_batch_size = 1;
  Recompute recompute;
  ScheduleSpec schedule;
  bool operator==(const Configuration&) const = default;
};
std::vector<Configuration> search_space(const Scenario& scenario, const SearchOptions& options);

} // namespace tessella
