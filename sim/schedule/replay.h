// The in-order replay: when does every slot start if durations are fixed and nothing contends? This is the meaning
// behind every published bubble formula, and a fast bound for planners. Integer time in any unit the caller likes.
//
//   start = max(rank free, end of each need (+ comm if it ran on another rank)); unlimited buffers
//   a pair starts when both halves are ready, and both halves end at its end
//   live activations: +1 at F, -1 at B and at W ("freed at W") or at I ("freed at I"); a pair counts its F first
//
// O(actions), event driven. Source: the replay semantics behind schedules_oracle.yaml.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/domain/schedule.h"

namespace tessella {

struct StageTimes {
  std::int64_t f = 0;
  std::int64_t b = 0;
  std::int64_t i = 0;
  std::int64_t w = 0;
  bool operator==(const StageTimes&) const = default;
};

struct ReplayTimes {
  std::vector<StageTimes> stages;  // [stage]; a single entry holds for all
  std::vector<std::int64_t> pairs; // [forward stage * S + backward stage]; a single entry for all; empty: the sum
  std::int64_t comm = 0;           // between actions of different ranks
  std::int64_t shadow = 0;         // an action of a shadow micro-batch; a pair with one shadow costs its other half
  bool operator==(const ReplayTimes&) const = default;
};

struct RankReplay {
  std::vector<std::int64_t> start; // [slot]
  std::vector<std::int64_t> end;   // [slot]
  std::int64_t busy = 0;
  std::int32_t peak_freed_at_w = 0; // live (stage, micro-batch) activations
  std::int32_t peak_freed_at_i = 0;
  bool operator==(const RankReplay&) const = default;

  std::int64_t first_start() const { return start.empty() ? 0 : start.front(); }
  std::int64_t last_end() const { return end.empty() ? 0 : end.back(); }
  std::int64_t idle_inside_span() const { return last_end() - first_start() - busy; }
};

struct Replay {
  std::vector<RankReplay> ranks;
  std::int64_t makespan = 0;
  bool operator==(const Replay&) const = default;

  std::int64_t idle(std::size_t rank) const { return makespan - ranks[rank].busy; }
  // Idle share of all rank time, 0..1.
  double bubble_fraction() const;
};

// The schedule must be sound (validate() finds nothing); a deadlock here is our bug.
Replay replay(const Schedule& schedule, const ReplayTimes& times);

} // namespace tessella
