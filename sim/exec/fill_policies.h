// Policies of the bubble filler: which deferred weight gradient a rank runs in an idle stretch of its compute lane.
//
// A policy is a pure function of a RankView, which holds what a rank can know at that moment and nothing else: its own
// clock, its own pool, the token counts that its expert-parallel group exchanged before dispatch, offline durations,
// and the waits it saw itself in the past. When another rank or a message really arrives is not in it and cannot be
// reached from it. Only a policy of kind KnowingPick is told; it exists to bound what any policy could gain.
//
// Source: the Dynamic Bubble Optimizer of Tessera (OSDI '26), section 3.2 and Algorithm 2; the paper does not give its
// score, ours is stated at each policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/base/units.h"
#include "sim/domain/profile.h"
#include "sim/engine/pace.h"

namespace tessella {

// A deferred weight gradient as its rank sees it.
struct PoolTask {
  std::int32_t weight = 0; // what it accumulates into, from 1; in the order of micro-batches
  std::int32_t stage = 0;
  std::int32_t micro_batch = 0;
  Duration estimate;    // offline duration at the tokens it was computed for, alone on the GPU
  Pace beside_waiting;  // its offline slowdown beside an expert all-to-all that waits
  Pace beside_exchange; // and beside one that moves data
  Provenance provenance = Provenance::assumed;
  std::int32_t name = 0;  // index into Program::op_names
  std::int64_t bytes = 0; // memory it holds until it runs
  Time deadline;          // offline: when the rank's planned actions end
  bool eligible = true;   // false: an older task accumulates into the same weight and goes first

  bool operator==(const PoolTask&) const = default;
};

// An idle stretch ahead, as estimated by the rank.
struct FillSlot {
  bool beside_exchange = false;    // at an expert all-to-all; else at a message from a neighbouring stage
  Duration estimate;               // from token counts (or, for a message, the plan) and offline durations
  std::optional<Duration> average; // waits of this rank at this place, moving average over the last 10 steps
};

struct RankView {
  Time now;                       // the rank's own clock
  std::span<const PoolTask> pool; // its own, oldest first
  FillSlot slot;
  std::span<const std::int32_t> tokens; // received by each rank of its EP group, of the micro-batch at hand
  std::size_t self = 0;                 // the rank's place in `tokens`

  // How long a task should take if started now, at the slower of the two paces beside an exchange.
  Duration span(const PoolTask& task) const {
    if (!slot.beside_exchange) return task.estimate;
    return max(task.beside_waiting.span_for(task.estimate), task.beside_exchange.span_for(task.estimate));
  }
};

// The truth, for the bound only.
struct ActualWait {
  Duration gap; // until the rank can go on
};

// The task to run, or nothing to leave the stretch idle.
using Pick = std::optional<std::size_t> (*)(const RankView& view);
using KnowingPick = std::optional<std::size_t> (*)(const RankView& view, const ActualWait& actual);

struct FillPolicy {
  std::string_view name;
  std::string_view description;
  bool defers = false;        // weight gradients of B actions enter the pool
  bool keeps_history = false; // FillSlot::average is recorded
  // Weight gradients are deferred by all ranks of an EP group or by none: when the fullest pool of the group, as
  // exchanged with the token counts before the last dispatch, has room. Else each rank looks at its own pool only.
  bool together = false;
  // Fills at every wait for an exchange; else only right after MoE compute, where Tessera marks its slots.
  bool everywhere = false;
  // A task longer than the wait runs in it as far as the estimate allows and goes on later: a weight gradient can be
  // computed by slices of its output, which leaves every sum as it is. Each slice costs a decision.
  bool slices = false;
  Pick pick = nullptr;           // exactly one of the two, except for "none"
  KnowingPick knowing = nullptr; // decides for free, and its tasks are cut where the wait ends and go on later
};

// All policies, "none" first.
std::span<const FillPolicy> fill_policy_table();
// Nothing when there is no such policy.
const FillPolicy* find_fill_policy(std::string_view name);

} // namespace tessella
