// What a configuration search found: plans in order of simulated step time, and how many were looked at. Made by
// sim/planner/search/search.h, rendered by sim/report/search_text.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/domain/parallelism.h"
#include "sim/domain/plan.h"
#include "sim/domain/plan_file.h"
#include "sim/domain/scenario.h"
#include "sim/domain/schedule.h"

namespace tessella {

// How far apart the ranks of an expert group sit (sim/topology/groups.h).
struct GroupPlace {
  std::int64_t nodes = 1;
  std::int64_t leaf_groups = 1; // segments, scalable units, dragonfly groups
  bool operator==(const GroupPlace&) const = default;

  const char* name() const; // "one node", "one leaf group", "several leaf groups"
};

struct RankedPlan {
  Parallelism parallelism;
  std::int64_t micro_batch_size = 1;
  Recompute recompute;
  ScheduleSpec schedule;
  Partition partition; // balanced by model FLOPs
  Duration step_time;
  Duration lower_bound; // that the search pruned by
  double mfu = 0.0;
  Bytes free; // on the fullest rank
  GroupPlace expert_group;
  bool operator==(const RankedPlan&) const = default;
};

struct SearchCounts {
  std::int64_t enumerated = 0;
  std::int64_t legal = 0;
  std::int64_t state_too_large = 0; // weights, gradients and optimizer alone exceed the memory; fit is what remains of
                                    // legal without these and those whose activations do
  std::int64_t fit = 0;             // in memory
  std::int64_t not_covered = 0;     // fit, but the profile lacks a cost
  std::int64_t bounded = 0;         // fit, but cannot be among the best: never simulated
  std::int64_t simulated = 0;
  std::int64_t not_reached = 0; // fit, but the search was ended before their turn
  std::int64_t too_hot = 0;     // of the simulated: the busiest expert rank does not fit
  bool operator==(const SearchCounts&) const = default;
};

struct SearchResult {
  std::vector<RankedPlan> ranked; // fastest first; all that were asked for, and every plan tied with the fastest
  SearchCounts counts;
  double tie = 0.02;                    // plans within this fraction of the fastest are not told apart
  double error = 0.0;                   // median error of the profile's predictions; 0: it was never held against runs
  std::vector<RankedPlan> of_places;    // the fastest of every GroupPlace::name(), fastest first; with one name: empty
  std::vector<std::string> limits;      // what holds the fastest back, one sentence each
  std::vector<PlanWhatIf> what_ifs;     // of the fastest, when asked for
  std::vector<std::string> not_covered; // rows the profile lacks, sorted
  bool operator==(const SearchResult&) const = default;

  std::size_t ties() const;                  // how many plans, the fastest included, are within `tie` of it
  std::size_t within(double fraction) const; // the same for any fraction
};

// "none", "full", "selective moe_act layernorm".
std::string to_text(const Recompute& recompute);

} // namespace tessella
