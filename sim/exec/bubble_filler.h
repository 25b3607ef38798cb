// The state of the bubble filler inside one replica: a pool of deferred weight gradients per rank, what each rank
// remembers of its waits, and the sums of the step. Decisions are a policy's (fill_policies.h); running a task is the
// replica's (replica_fill.cpp).
//
// Order: two tasks of one weight never overtake each other, so gradients accumulate in the order of the schedule, bit
// by bit. A task that finds its weight's older task in a full pool therefore runs that one and takes its place.
// Complexity: O(pool) per decision; memory O(ranks * (pool + places)).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/exec/early_work.h"
#include "sim/exec/fill_policies.h"
#include "sim/exec/fill_sums.h"
#include "sim/exec/program.h"

namespace tessella {

struct FillerOptions {
  const FillPolicy* policy = nullptr; // a row of the table; null or "none": no filler
  std::int64_t pool = 8;
  Duration decision_cost;
  std::vector<std::int64_t> headroom_bytes; // [position] memory that deferred tasks of one rank may hold; empty: any

  bool defers_wgrad = true; // else weight gradients keep their place and only other work moves

  bool on() const { return policy != nullptr && (policy->pick != nullptr || policy->knowing != nullptr); }
};

// Offline knowledge: a run of the plan with balanced loads and exact kernels, without a filler.
struct FillPlan {
  std::vector<std::vector<Duration>> message_wait; // [position][slot]: wait for messages
  std::vector<Time> deadline;                      // [position]: end of its last action
  // [position][chunk]: by how much the last gradients of a chunk may come later without delaying the end of the step
  std::vector<std::vector<Duration>> slack;
};

class BubbleFiller {
 public:
  // All arguments must outlive it.
  BubbleFiller(const Program& program, const FillerOptions& options, const FillPlan& plan);

  void begin_step();
  const FillSums& sums() const { return sums_; }
  FillSums& sums() { return sums_; }
  const std::vector<std::int64_t>& peak_bytes() const { return peak_bytes_; } // [position], of one rank
  const FillerOptions& options() const { return options_; }
  const FillPlan& plan() const { return plan_; }

  struct Work {
    PoolTask task;
    Duration actual; // what it will really take, alone on the GPU; no policy sees it
  };
  // A weight gradient reaches its place in the plan: defers it (nothing) or says how much work to do there.
  std::optional<Duration> at_its_place(std::size_t group, std::size_t rank, const PoolTask& task, Duration actual);
  // Whether the stage's gradients are complete with this micro-batch.
  bool completes(std::size_t group, std::int32_t stage, std::int32_t micro_batch) const;

  EarlyWork& early() { return early_; }
  // Memory for early work: what is left of the headroom when the pool is full of the largest tasks.
  std::int64_t free_bytes(std::size_t group, std::size_t rank) const;
  void note_bytes(std::size_t group, std::size_t rank); // after early work: for the peaks

  // The members of every EP group tell each other how full their pools are.
  void exchange_fill(std::size_t group);

  // The policy's choice among the rank's pool, which `view` need not hold yet; the task stays until take().
  std::optional<std::size_t> pick(std::size_t group, std::size_t rank, RankView view, Duration actual_gap) const;
  Work at(std::size_t group, std::size_t rank, std::size_t task) const;
  // The oldest task of a stage, or of any stage.
  std::optional<std::size_t> oldest(std::size_t group, std::size_t rank, std::optional<std::int32_t> stage) const;
  bool empty(std::size_t group, std::size_t rank) const { return pool(group, rank).tasks.empty(); }
  void take(std::size_t group, std::size_t rank, std::size_t task);
  // A cut task did `done` of its work.
  void progress(std::size_t group, std::size_t rank, std::size_t task, Duration done);

  // Places where a rank waits: fill points of templates, then messages by slot. Records and recalls waits.
  std::size_t point_place(std::int32_t fill_point) const { return static_cast<std::size_t>(fill_point - 1); }
  std::size_t message_place(std::size_t group, std::size_t slot) const { return first_message_[group] + slot; }
  void note_wait(std::size_t place, std::size_t rank, Duration wait);
  // Fills in what the rank remembers of a place.
  void recall(std::size_t place, std::size_t rank, FillSlot& slot) const;

 private:
  struct Pool {
    std::vector<PoolTask> tasks; // oldest first
    std::vector<Duration> actual;
    std::int64_t bytes = 0;
  };
  Pool& pool(std::size_t group, std::size_t rank) { return pools_[group * ranks_ + rank]; }
  const Pool& pool(std::size_t group, std::size_t rank) const { return pools_[group * ranks_ + rank]; }
  bool has_room(std::size_t group, std::size_t rank, const PoolTask& task) const;
  void push(std::size_t group, std::size_t rank, const PoolTask& task, Duration actual);
  bool in_time(std::size_t group, std::size_t rank, const PoolTask& task) const;
  Duration take_all_of_weight(std::size_t group, std::size_t rank, std::int32_t weight);

  // In ps: mean of the steps before (weight 2 / 11 for the newest, as for a window of 10) and sum of this step.
  struct Waits {
    float mean = 0.0F;
    float sum = 0.0F;
    std::int32_t count = 0;
    bool known = false;
  };

  void find_last_micro_batches();
  std::int64_t held_bytes(std::size_t group, std::size_t rank) const {
    return pool(group, rank).bytes + early_.bytes(group, rank);
  }

  const Program& program_;
  FillerOptions options_;
  const FillPlan& plan_;
  EarlyWork early_;
  std::size_t ranks_;
  std::size_t ep_block_;
  std::vector<Pool> pools_; // [group][rank]
  // [group][rank], alike in an EP group: the fullest pool at the last exchange, and what was deferred since
  std::vector<std::int64_t> fullest_;
  std::vector<std::size_t> first_message_; // [group]
  // [group][chunk] of its last backward
  std::vector<std::vector<std::optional<MicroBatch>>> last_micro_batch_;
  std::vector<Waits> waits_; // [place][rank], only when the policy keeps history
  FillSums sums_;
  std::vector<std::int64_t> peak_bytes_;
};

} // namespace tessella
