// How many rows each rank, or each expert, of an EP group receives: for every step, MoE layer, micro-batch and replica.
//
//   const RoutingModel model(spec, shape, seed);         // once per run; static offsets
//   const StepRouting step = model.prepare(0);           // once per step; shares of every layer
//   step.rank_loads(layer, micro_batch, replica, out);   // out[r]: rows received by EP rank r
//
// Every draw is a pure function of (seed, step, layer, micro-batch, replica): any order, any thread. Rows count top-k
// copies and sum exactly to shape.rows(). `layer` is a MoE layer index (workload_shape.h); `replica` numbers EP groups
// that see different data.
//
// With a capacity factor rows beyond an expert's capacity are dropped, or every expert gets its whole capacity; then
// rows no longer sum to shape.rows(). What is drawn then is every expert, fast, as below with experts for ranks.
//
// The generator of domain/routing.h, exactly: expert_loads(). rank_loads() is a fast equivalent at the level of ranks:
// the load of rank r is log-normal with the exact mean and variance of the sum over its experts (noise: relative
// variance (exp(sigma^2) - 1) sum w_e^2 / (sum w_e)^2, multinomial: 1 / rows), one deviate per rank, then scaled to the
// exact sum; first and second moments agree (tests/property/workload). The two are different draws: use one of them for
// one purpose.
//
// Complexity, L MoE layers, E experts, R = EP ranks: construction O(L E); prepare(s) O(s L E); next() O(L E);
// rank_loads O(R), some 4 ns per rank, with a capacity O(E); expert_loads O(E), some 70 ns per expert
// (tests/bench/bench_workload.cpp). Memory O(L E).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/rng.h"
#include "sim/domain/balancing.h"
#include "sim/domain/routing.h"
#include "sim/domain/workload_shape.h"

namespace tessella {

// Rows of one EP group in one layer and micro-batch: routed, and of these dropped because experts were full.
struct RoutedRows {
  std::int64_t routed = 0;
  std::int64_t dropped = 0;
  bool operator==(const RoutedRows&) const = default;
};

// The routing of one step: a value, safe to share between threads.
class StepRouting {
 public:
  std::int64_t step() const { return step_; }

  // Rows received by each EP rank; out.size() == shape.ep.
  RoutedRows rank_loads(std::int64_t layer, std::int64_t micro_batch, std::int64_t replica,
                        std::span<std::int32_t> out) const;

  // Rows routed to each expert, before any capacity; out.size() == shape.num_experts. An exact draw of the generator;
  // for the other kinds the rows of a rank (those of rank_loads) spread over its experts.
  void expert_loads(std::int64_t layer, std::int64_t micro_batch, std::int64_t replica,
                    std::span<std::int32_t> out) const;

  // From now on EP rank r holds the experts of slots [r, r + 1) * (slots per rank) of this layer; replicas of an expert
  // share its rows evenly. Changes rank_loads, not expert_loads; generator only. O(slots).
  void place(std::int64_t layer, std::span<const std::int32_t> expert_at);

  // Expected share of each expert before noise, summing to 1.
  std::span<const double> expert_shares(std::int64_t layer) const;

 private:
  friend class RoutingModel;
  // What one rank's log2-load is made of: mean + sigma * deviate.
  struct RankTerm {
    float mean = 0.0F;
    float sigma = 0.0F;
  };

  // Of each slot of a layer: the share of its expert, evenly over the expert's replicas.
  std::vector<double> slot_shares(std::size_t layer) const;
  void set_rank_terms(std::size_t layer);
  // rank_loads with a capacity. `rows` holds what each expert is sent.
  RoutedRows fill_to_capacity(std::size_t layer, std::span<std::int32_t> rows, std::span<std::int32_t> out) const;

  // Log-normal with the mean and relative variance of the sum of these shares under noise and counting.
  RankTerm rank_term(std::span<const double> shares) const;

  // The stream of one draw: `base` is the step's.
  static Stream draw_stream(const Stream& base, std::int64_t layer, std::int64_t micro_batch, std::int64_t replica) {
    return base.substream(static_cast<std::uint64_t>(layer) << 32 | static_cast<std::uint64_t>(replica))
        .substream(static_cast<std::uint64_t>(micro_batch));
  }

  std::int64_t step_ = 0;
  WorkloadShape shape_;
  double noise_sigma_ = 0.0;
  bool drawn_ = false; // generator; otherwise rank_rows_ holds the answer
  Stream noise_{0, Purpose::routing_noise};
  Stream tokens_{0, Purpose::routing_tokens};
  std::vector<double> drift_;                        // [layer][expert], log-weight
  std::vector<double> shares_;                       // [layer][expert]
  std::vector<RankTerm> rank_terms_;                 // [layer][rank], drawn
  std::vector<RankTerm> expert_terms_;               // [layer][expert], drawn, with a capacity
  std::vector<std::int32_t> rank_rows_;              // [layer][rank], not drawn
  std::vector<std::int64_t> dropped_rows_;           // [layer], not drawn
  std::vector<std::vector<std::int32_t>> expert_at_; // [layer][slot]; empty: slot e holds expert e
  std::optional<std::int64_t> capacity_;             // rows of an expert
  bool padded_ = false;

  bool placed(std::size_t layer) const { return !expert_at_.empty() && !expert_at_[layer].empty(); }
  std::size_t slots(std::size_t layer) const {
    return placed(layer) ? expert_at_[layer].size() : static_cast<std::size_t>(shape_.num_experts);
  }
  std::size_t expert_in(std::size_t layer, std::size_t slot) const {
    return placed(layer) ? static_cast<std::size_t>(expert_at_[layer][slot]) : slot;
  }
};

class RoutingModel {
 public:
  // check_routing(spec, shape) must be empty.
  RoutingModel(RoutingSpec spec, WorkloadShape shape, std::uint64_t seed);

  StepRouting prepare(std::int64_t step) const;
  // The step after `before`; equal to prepare(before.step() + 1).
  StepRouting next(const StepRouting& before) const;

  // False: every micro-batch and replica of a step receives the same loads, so identical replicas need one simulation.
  bool drawn() const { return spec_.kind == RoutingKind::generator; }
  // False: every step is the same, too.
  bool changes_between_steps() const { return drawn() || spec_.kind == RoutingKind::trace; }
  const WorkloadShape& shape() const { return shape_; }

 private:
  void advance_drift(std::vector<double>& drift, std::int64_t step) const;
  StepRouting finish(std::int64_t step, std::vector<double> drift) const;
  void fill_generator(StepRouting& out) const;
  void fill_fixed(StepRouting& out) const;

  RoutingSpec spec_;
  RoutingSpreads spreads_; // as the balancing method leaves them
  WorkloadShape shape_;
  std::uint64_t seed_;
  std::vector<double> static_; // [layer][expert], log-weight; generator only
};

} // namespace tessella
