// The lowered step: op templates per (stage, kind) and per co-scheduled pair, one list of actions per group. Immutable
// while it runs, shared by all replicas and threads. An action instantiates its template when it starts and frees it
// when it ends, so memory does not grow with the number of micro-batches.
//
//   group    the ranks of one pipeline position that TP, CP and EP collectives tie together
//   replica  one pipeline of such groups; world = replicas * positions * group_size
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/cost/layer_ops.h"
#include "sim/domain/schedule.h"
#include "sim/engine/pace.h"

namespace tessella {

// In-order queues of a rank. TP and CP collectives block the compute lane (Megatron without TP overlap); expert
// all-to-alls have their own lane, which matters in overlapped templates only.
enum class OpLane : std::uint8_t { compute, ep };

enum class WorkKind : std::uint8_t {
  fixed,        // the same on every rank
  rank_load,    // a curve of the tokens this rank received
  hottest_load, // a curve of the tokens of the hottest rank of the sync block
};

// A LoadCurve ready for the hot loop: knots at multiples of 2^shift tokens, linear between and beyond the last.
struct TokenCurve {
  int shift = 0;
  std::vector<std::int64_t> knots_ps; // at least two

  explicit TokenCurve(const LoadCurve& curve);
  Duration at(std::int64_t tokens) const {
    const auto cell = std::min<std::size_t>(static_cast<std::size_t>(tokens >> shift), knots_ps.size() - 2);
    const std::int64_t rest = tokens - (static_cast<std::int64_t>(cell) << shift);
    return {knots_ps[cell] + (((knots_ps[cell + 1] - knots_ps[cell]) * rest) >> shift)};
  }
};

struct Op {
  OpClass cls = OpClass::compute;
  OpLane lane = OpLane::compute;
  WorkKind work = WorkKind::fixed;
  Provenance provenance = Provenance::assumed;
  bool after_moe = false;      // of a fill point: right after MoE compute
  std::uint8_t half = 0;       // in a pair: 0 = ops of the first action, 1 = of the second
  std::uint16_t first_dep = 0; // overlapped templates: range of Template::deps
  std::uint16_t num_deps = 0;
  std::int32_t sync_width = 1; // consecutive ranks that must meet
  std::int32_t curve = 0;      // index into Program::curves, for loads
  std::int32_t moe_layer = 0;  // which load vector, for loads
  std::int32_t name = 0;       // index into Program::op_names
  std::int32_t weight = 0;     // of a movable weight gradient: what it accumulates into, from 1; 0 = not movable
  std::int32_t ahead = 0;      // of a backward op: from 1, place in Program::ahead of its stage; 0 = recomputes nothing
  std::int32_t fill_point = 0; // from 1: waits for an exchange, and a rank may fill the wait; 0 = none
  Duration duration;           // fixed work
  Pace beside_waiting;         // compute: while an expert all-to-all waits on this rank (holds SMs)
  Pace beside_moving;          // compute: while it moves data (SMs, HBM)
  Pace beside_compute;         // expert all-to-all of an overlapped template: what compute beside it costs it
};

struct Template {
  std::vector<Op> ops;             // in issue order; see lower.h for what overlapped templates guarantee
  std::vector<std::uint16_t> deps; // indices of earlier ops
  bool overlapped = false;         // false: a chain, each op after the one before
  // Overlapped: the op of each action after which its message to the next stage leaves, while the rest of the pair goes
  // on (Megatron sends on a stream of its own, and a gradient before the weight gradients that were delayed past it).
  // Nothing: at the end of the pair.
  std::array<std::optional<std::uint16_t>, 2> sends{};
};

// What the data-parallel phase does for one model chunk of one pipeline position.
struct ChunkSync {
  Duration dense_reduce;  // reduce-scatter (or all-reduce) of dense gradients
  Duration expert_reduce; // of expert gradients
  Duration param_gather;  // parameter all-gather of the distributed optimizer
  // Bucket by bucket, with their overlap switched on: how long before its last backward ends the reduction of the chunk
  // can start, and how long before the end of its gather the first forward.
  Duration reduce_lead;
  Duration gather_lead;
};

// Work of the whole step that a rank may do piece by piece in idle time; what is left at its end runs before the
// optimizer.
struct SpareWork {
  std::int32_t name = 0; // index into Program::op_names
  std::int64_t pieces = 0;
  Duration piece;         // alone on the GPU
  std::int64_t bytes = 0; // memory that a piece done early holds until the end of the step
  // By a copy engine over the link to the host, which the NIC shares: beside no exchange, and the compute lane is free.
  bool copies = false;
  Pace beside_waiting;
  Pace beside_moving;
  Provenance provenance = Provenance::assumed;
};

// Recomputation in a backward op that may run ahead of it, once the forward of the micro-batch is over.
struct AheadWork {
  Duration duration;      // at balanced load; what a hotter rank needs beyond stays in the op
  std::int64_t bytes = 0; // activations held from then until the op has run
  std::int32_t name = 0;
  Pace beside_waiting;
  Pace beside_moving;
  Provenance provenance = Provenance::assumed;
};

struct Position {
  std::vector<std::int32_t> stages; // held by this position, ascending; index = chunk
  std::vector<ChunkSync> chunks;    // [chunk]
  Duration optimizer;
  std::vector<SpareWork> spare;

  std::size_t chunk_of(std::int32_t stage) const {
    return static_cast<std::size_t>(std::find(stages.begin(), stages.end(), stage) - stages.begin());
  }
};

// Numbers the fill points of all templates in order; lowering marks them with 1.
struct Program;
void number_fill_points(Program& program);

// One position per pipeline rank with the stages it holds and no data-parallel cost.
std::vector<Position> bare_positions(const Schedule& schedule);

// What makes a rank slower than its profile: factors on durations, all of them 1 or more.
struct Handicap {
  enum Part : std::uint8_t { compute, tp, cp, ep, dp, p2p }; // the first four as OpClass
  static constexpr std::size_t kParts = 6;

  std::int32_t rank = 0; // global
  std::array<double, kParts> factor{1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
  bool operator==(const Handicap&) const = default;
};

// Nothing stays nothing.
inline Duration scaled(Duration d, double factor) {
  return d.ps == 0 ? d : round_to_picoseconds(d.seconds() * factor);
}

// Expert work that moves inside a node: it is spread evenly over `width` consecutive ranks, and moved work takes `toll`
// times its own duration more.
struct Stealing {
  std::int32_t width = 1;
  double toll = 0.0;
  bool operator==(const Stealing&) const = default;
};

struct Program {
  Schedule schedule;
  std::int32_t group_size = 1;
  std::int32_t replicas = 1;
  std::int32_t ep_block = 1; // ranks that share one set of experts: ETP * EP
  std::int32_t etp = 1;
  std::int32_t dense_stride = 1; // ranks r with equal r % dense_stride share dense gradients (TP)
  std::vector<TokenCurve> curves;
  std::vector<Template> templates;
  std::vector<std::array<std::int32_t, 4>> stage_templates; // [stage][ActionKind] -> index into templates
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> pair_templates; // (first template, second) -> index
  std::vector<std::int16_t> owner; // [stage * micro-batches + micro-batch] -> position that runs it
  Duration p2p_flight;             // one message between neighbouring positions
  std::vector<Position> positions;
  Duration norm_sync; // gradient-norm all-reduce over all ranks
  bool overlap_grad_reduce = false;
  bool overlap_param_gather = false;
  Duration tied_embedding_reduce;  // between first and last position; 0 when untied
  std::vector<Handicap> handicaps; // ascending by rank
  Stealing stealing;
  double kernel_jitter = 0.0;
  double fabric_jitter = 0.0;
  std::vector<std::string> op_names;
  std::vector<std::int64_t> held_bytes; // [stage] what one deferred weight gradient keeps in memory; empty: nothing
  std::vector<std::vector<AheadWork>> ahead; // [stage] in the order of its backward; empty: nothing may run ahead
  std::int32_t num_weights = 0;              // movable ones
  std::int32_t num_fill_points = 0;

  std::int32_t num_positions() const { return schedule.num_ranks; }
  std::int32_t owner_of(Stage s, MicroBatch m) const {
    return owner[static_cast<std::size_t>(s.value) * static_cast<std::size_t>(schedule.num_micro_batches) +
                 static_cast<std::size_t>(m.value)];
  }
};

} // namespace tessella
