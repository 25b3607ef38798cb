// What a configuration search found: plans in order of simulated step time, and how many were looked at. Made by
// sim/planner/search/search.h, rendered by sim/report/search_text.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/domain/parallelism.h"
#include "sim/domain/plan.h"
#include "sim/domain/scenario.h"
#include "sim/domain/schedule.h"

namespace tessella {

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
  bool operator==(const RankedPlan&) const = default;
};

struct SearchCounts {
  std::int64_t enumerated = 0;
  std::int64_t legal = 0;
  std::int64_t fit = 0;         // in memory
  std::int64_t not_covered = 0; // fit, but the profile lacks a cost
  std::int64_t bounded = 0;     // fit, but cannot be among the best: never simulated
  std::int64_t simulated = 0;
  bool operator==(const SearchCounts&) const = default;
};

struct SearchResult {
  std::vector<RankedPlan> ranked; // fastest first; all that were asked for, and every plan tied with the fastest
  SearchCounts counts;
  double tie = 0.02;                    // plans within this fraction of the fastest are not told apart
  std::vector<std::string> not_covered; // rows the profile lacks, sorted
  bool operator==(const SearchResult&) const = default;

  std::size_t ties() const; // how many plans, the fastest included, are within `tie` of it
};

// "none", "full", "selective moe_act layernorm".
std::string to_text(const Recompute& recompute);

} // namespace tessella
