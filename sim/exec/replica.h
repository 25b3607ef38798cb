// One replica of one step: the event loop. An event is "the inputs of this group's next slot exist"; the slot's
// template then advances the clocks of all ranks of the group, op by op, and its messages wake the neighbours.
//
// A Replica owns all its memory and reuses it from run to run; the loop allocates nothing in steady state.
// Complexity: O(slots * ops per template * group size), plus O(log positions) per event.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/domain/ledger.h"
#include "sim/engine/event_queue.h"
#include "sim/exec/bubble_filler.h"
#include "sim/exec/forecast.h"
#include "sim/exec/loads.h"
#include "sim/exec/message_board.h"
#include "sim/exec/overlap.h"
#include "sim/exec/program.h"
#include "sim/exec/records.h"

namespace tessella {

// The clocks and books of one group.
struct Group {
  std::vector<Time> clock;           // [rank]
  std::vector<Duration> booked;      // [share][rank]
  LedgerRow booked_on_all;           // booked alike on every rank: kept once
  std::vector<Time> gradients_ready; // [chunk][rank]: end of the last backward of the chunk
  std::vector<Time> params_ready;    // [chunk]: its first forward may start
  std::vector<std::int64_t> tokens;  // [rank] routed rows received by all its layers and micro-batches
  std::int64_t routed = 0;           // rows routed to all ranks, before any were dropped
  std::vector<std::pair<std::size_t, const Handicap*>> handicaps; // (rank of the group, what ails it)
  std::vector<Duration> spare_left; // [rank] spare work that found no idle time; empty: there is none
  std::size_t next_slot = 0;
  bool queued = false;

  std::span<Duration> share(Share s) {
    const std::size_t n = clock.size();
    return std::span(booked).subspan(static_cast<std::size_t>(s) * n, n);
  }
  LedgerRow row(std::size_t rank) const;
};

class Replica {
 public:
  // The program and the loads must outlive the replica. `loads` may be null when no op depends on loads.
  Replica(const Program& program, const LoadSource* loads);
  // With a bubble filler, whose plan must outlive the replica too. It remembers waits from run to run.
  Replica(const Program& program, const LoadSource* loads, const FillerOptions& filler, const FillPlan& plan);

  // Runs replica number `index` of step `step` from time 0; afterwards the groups hold clocks and books up to the end
  // of the last action, before any data-parallel phase. `trace` may be null.
  void run(std::int64_t step, std::int32_t index, std::uint64_t seed, RunRecords* trace, const TraceRequest& request);

  std::vector<Group>& groups() { return groups_; }
  const ReplicaSums& sums() const { return sums_; }

  // Where runs note what the first rank of each position waits for the messages of each slot: [position][2 * slot + 0]
  // for its first action, + 1 for its second. Null: nowhere.
  void note_message_waits(std::vector<std::vector<Duration>>* waits) { message_waits_ = waits; }

 private:
  void reset();
  void note_held_loads();
  void queue_if_ready(std::int32_t g);
  void execute(std::int32_t g);
  void receive(std::int32_t g, const Action& a, Share idle, std::size_t which);
  // `leaves` is when the action's message does, per rank.
  void finish(std::int32_t g, const Action& a, std::span<const Time> leaves);
  void post(std::int32_t g, const Action& a, Message::Way way, std::int32_t to, std::span<const Time> leaves);

  // Template evaluation, in replica_chain.cpp and replica_overlapped.cpp.
  void run_chain(std::int32_t g, const Template& t, const Slot& slot);
  void run_overlapped(std::int32_t g, const Template& t, const Slot& slot);
  void run_compute(Group& group, const Op& op, const Action& a);
  bool run_collective(Group& group, const Op& op, const Action& a);
  void overlapped_compute(Group& group, const Op& op, const Action& a, std::size_t index, const Template& t);
  void overlapped_collective(Group& group, const Op& op, const Action& a, std::size_t index, const Template& t);
  // Fills work_ for `count` ranks or blocks; when all are alike only work_[0] is filled and false is returned.
  bool durations(Group& group, const Op& op, const Action& a, std::size_t count);
  // In replica_handicap.cpp.
  void find_handicaps();
  bool apply_handicaps(const Group& group, const Op& op, std::size_t count, bool differ); // work_ differs now?
  void steal(const Op& op);
  void apply_jitter(const Op& op, const Action& a, std::size_t count);
  std::span<const std::int32_t> loads_of(Group& group, const Op& op, const Action& a);
  void trace_op(std::int32_t g, const Op& op, const Action& a, std::size_t rank, Time begin, Time end);

  // The bubble filler, in replica_fill.cpp.
  struct Gap {
    Time estimate; // when the rank expects to go on
    Time ready;    // when it can
    std::size_t place;
    bool exchange;
    Share rest; // how idle time is booked in which nothing waits or moves
  };
  // Early work, in replica_early.cpp.
  struct EarlyRun {
    Duration duration;
    Pace beside_waiting;
    Pace beside_moving;
    Provenance provenance;
  };
  bool run_early(Group& group, std::size_t r, const EarlyRun& work, const Gap& gap, Time until);
  void recompute_ahead(Group& group, std::size_t r, const Gap& gap, Time until);
  void fill_early(Group& group, std::size_t r, const Gap& gap);
  bool skip_recomputed(const Group& group, const Op& op, const Action& a, bool differ); // work_ differs now?
  void note_spare_left();

  bool fills(const Op& op) const;
  void plan_ahead(const Group& group, const Template& t, std::size_t index, const Action& a);
  bool defers(const Op& op, const Action& a) const;
  bool defer(Group& group, const Op& op, const Action& a, bool differ); // always true: work_ differs now
  void idle_until(Group& group, std::size_t r, Time until, Share rest);
  bool run_task(Group& group, std::size_t r, std::size_t index, std::optional<Time> cut);
  void fill_gap(Group& group, std::size_t r, const Gap& gap, std::span<const std::int32_t> tokens);
  bool fill_at_exchange(Group& group, const Template& t, std::size_t index, const Action& a);
  void fill_before(Group& group, const Template& t, std::size_t index, std::span<const Time> ready);
  void fill_message_wait(Group& group, std::size_t which, std::span<const Time> arrival, Share idle);
  void pin_to_exchange(std::span<const Time> ends);                   // chains: the collective just run
  void pin_to_exchanges_before(const Template& t, std::size_t index); // overlapped: those an op waited for
  void run_leftovers(Group& group, std::optional<std::int32_t> stage);
  void run_what_is_due(Group& group, const Slot& slot);
  // Tokens of the EP group of a rank in the micro-batch of an op; nothing before its router has run.
  std::span<const std::int32_t> tokens_of(const Op& op, std::size_t rank) const;
  void trace_task(std::size_t g, std::size_t r, const PoolTask& task, Time begin, Time end);

  const Program& program_;
  const LoadSource* loads_;
  std::size_t n_; // ranks per group
  std::vector<Group> groups_;
  EventQueue queue_;
  MessageBoard board_;
  ReplicaSums sums_;

  // The running step.
  std::int64_t step_ = 0;
  std::int32_t index_ = 0;
  std::uint64_t seed_ = 0;
  RunRecords* trace_ = nullptr;
  std::vector<std::vector<std::int32_t>> traced_; // [group] -> ranks inside the group

  // Scratch, reused by every op.
  std::vector<Duration> work_; // [rank or block]
  struct Loads {
    std::vector<std::int32_t> tokens; // [rank]
    std::int64_t key = 0;             // which layer and micro-batch; 0 = nothing yet
  };
  std::array<Loads, 2> load_;         // one per half of a pair
  std::vector<std::int32_t> ep_load_; // [EP rank]
  std::vector<Time> begun_;           // when the last op began, for the trace
  std::uint64_t jitter_op_ = 0;       // ordinal of the op inside its template
  Overlap overlap_;

  std::optional<BubbleFiller> filler_;
  Forecast forecast_;
  std::vector<Duration> planned_; // work_ before jitter, [0, planned_count_)
  std::size_t planned_count_ = 0;
  std::vector<Time> pinned_;       // [rank] own time at which the forecast's 0 lies
  std::vector<Time> exchange_end_; // [rank] of the last collective of a chain
  std::vector<std::vector<Duration>>* message_waits_ = nullptr;
};

} // namespace tessella
