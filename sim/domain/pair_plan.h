// How two actions share a GPU: the tasks of a co-scheduled pair, their order on each lane, and what that order costs.
//
// A task is what one piece of a stage (embedding, layer, MTP block, head) does in one go on one lane. Names follow
// Tessera's (OSDI '26, Listing 1); the number counts the pieces of the stage in forward order, from 0:
//
//   forward    F_EMB.0 | F_ATTN.1 F_DISP.1 F_MLP.1 F_COMB.1 F_JOIN.1 | F_MTP.2 | F_HEAD.4
//   backward   B_JOIN.1 B_COMB.1 B_MLP.1 B_DISP.1 B_ATTN.1, and the weight gradients B_WGRAD_MLP.1 B_WGRAD_ATTN.1
//
// In a pair of two forwards or of two backwards, the tasks of the second action begin with F2_ or B2_. A part that one
// pass runs through twice (a layer that is recomputed whole) gets an apostrophe the second time: B_ATTN.1'.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/units.h"
#include "sim/domain/schedule.h"

namespace tessella {

// The pass of each action of a pair: F or B.
using PairPasses = std::array<ActionKind, 2>;

enum class TaskPart : std::uint8_t { embedding, attention, dispatch, experts, combine, join, mtp, head };

struct TaskId {
  std::uint8_t half = 0; // 0: the first action of the pair, 1: the second
  bool weight_gradient = false;
  TaskPart part = TaskPart::attention;
  std::int32_t piece = 0; // of the stage, in forward order
  std::int32_t again = 0; // how often this pass has run through this part of the piece before
  constexpr auto operator<=>(const TaskId&) const = default;
};

std::string to_text(const TaskId& task, const PairPasses& passes);
std::optional<TaskId> parse_task(std::string_view text, const PairPasses& passes);

// An order, not times: what each lane runs, one task after another.
struct PairPlan {
  PairPasses passes{ActionKind::F, ActionKind::B};
  std::vector<TaskId> compute;
  std::vector<TaskId> ep;
  bool operator==(const PairPlan&) const = default;
};

// The order of all pairs of two such chunks. A chunk is named by what it holds ("embedding+3*moe", see
// sim/planner/overlap/pair_chunks.h); without names the order is for every pair that has its tasks.
struct PairOrder {
  std::string first;
  std::string second;
  PairPlan plan;
  Duration post_overlap; // what it cost when it was made; 0 when nobody said
  bool operator==(const PairOrder&) const = default;
};

// How the pairs of a scenario share their GPUs.
struct OverlapSpec {
  std::string scheduler = "megatron"; // whoever orders the pairs for which no order is given (tessella list overlap)
  std::vector<PairOrder> orders;
  std::string source; // the file the orders come from
  bool operator==(const OverlapSpec&) const = default;
};

// The orders of the pairs of a step, by (stage of the forward, stage of the backward).
using PairPlans = std::map<std::pair<std::int32_t, std::int32_t>, PairPlan>;

// The text form is a small piece of YAML, three keys with lists of plain words (sim/config/order_yaml.h reads it):
//
//   passes: [F, B]
//   compute: [F_ATTN.0, B_MLP.0, B_WGRAD_MLP.0, F_MLP.0]
//   ep: [B_COMB.0, F_DISP.0, B_DISP.0, F_COMB.0]
//
// Every line begins with `indent`.
std::string to_text(const PairPlan& plan, const std::string& indent = "");

// When a task runs in a pair.
struct TaskSpan {
  TaskId task;
  bool on_ep_lane = false;
  bool movable = false;
  Time start;
  Time end;
  Duration alone; // what it takes with no neighbour
  bool operator==(const TaskSpan&) const = default;
};

// What an order costs, and how far that is from the best.
struct PairResult {
  PairPlan plan;
  std::vector<TaskSpan> tasks; // by lane, then in order
  Duration serial;             // one action after the other, without overlap
  Duration post_overlap;       // makespan of the pair
  Duration ep_busy;            // of the ep lane
  Duration ep_hidden;          // of it, beside compute
  Duration lower_bound;        // no order ends earlier
  bool proven = false;         // post_overlap is the least possible
  bool operator==(const PairResult&) const = default;

  double overlap_gain() const; // 1 - post-overlap / serial; 0 for an empty pair
  double hidden_share() const; // ep_hidden / ep_busy; 1 when nothing is exchanged
  double gap() const;          // post-overlap / lower bound - 1; 0 when proven
};

} // namespace tessella
