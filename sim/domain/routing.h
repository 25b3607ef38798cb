// Tokens per expert: what the user asks for, as plain values, and the checks that need no random number.
// sim/workload/loads.h turns a RoutingSpec into loads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace tessella {

// What keeps a router balanced while it trains; domain/balancing.h says what each does to the spreads.
enum class Balancing { none, aux_loss, global_batch, loss_free_bias };

enum class RoutingKind {
  balanced,  // every rank receives exactly its share
  generator, // static offset + AR(1) + noise + multinomial, see below
  loads,     // a fixed relative load per expert or per EP rank, same for every layer and micro-batch
  trace,     // tokens per rank (or expert), layer and iteration, from a file
};

// Measured tokens: iteration i is step i of the simulation; every micro-batch of a step gets the shares of its row.
// Columns are the EP ranks, or the experts in order. One layer stands for every MoE layer.
struct RoutingTrace {
  std::int64_t iterations = 0;
  std::int64_t layers = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> tokens; // [iteration][layer][column]
  bool operator==(const RoutingTrace&) const = default;

  std::span<const std::int64_t> row(std::int64_t iteration, std::int64_t layer) const {
    return std::span(tokens).subspan(static_cast<std::size_t>((iteration * layers + layer) * columns),
                                     static_cast<std::size_t>(columns));
  }
};

// One line of a trace file, header `iter,layer,rank,tokens`.
struct TraceRow {
  std::int64_t iteration = 0;
  std::int64_t layer = 0;
  std::int64_t column = 0;
  std::int64_t tokens = 0;
  bool operator==(const TraceRow&) const = default;
};

// Why rows are not a trace, and which row (from 0) shows it; the last row when something is missing at the end.
struct TraceProblem {
  std::size_t row = 0;
  std::string message;
  bool operator==(const TraceProblem&) const = default;
};

// Rows sorted by iteration, any order inside one; layers and ranks count from 0; the first iteration may have any
// number, the others follow one by one. Every (iteration, layer, rank) exactly once, tokens >= 0, and a positive sum
// per (iteration, layer). O(rows).
std::variant<RoutingTrace, TraceProblem> make_trace(std::span<const TraceRow> rows);

// generator: a token goes to expert e with probability softmax(log w), where
//   log w(step, layer, e) = static(layer, e) + drift(step, layer, e) + noise(step, layer, micro-batch, replica, e),
// each normal with mean 0: static never changes; drift is AR(1) over steps with coefficient drift_phi and stationary
// standard deviation drift_sigma; noise is independent. Static and drift belong to the model, so all replicas share
// them. Then the tokens of the EP group are drawn (multinomial).
//
// The defaults are the preset "natural".
struct RoutingSpec {
  RoutingKind kind = RoutingKind::balanced;
  // Generator: scales the three spreads, which then are those under aux_loss (domain/balancing.h). Nothing: they are as
  // they stand.
  std::optional<Balancing> balancing;
  double static_sigma = 0.46;
  double drift_sigma = 0.30;
  double drift_phi = 0.94;
  double noise_sigma = 0.18; // per micro-batch
  std::vector<double> loads; // relative, any positive scale
  std::string trace_file;
  RoutingTrace trace; // what trace_file holds
  // Where the experts live: [MoE layer][slot] expert, rank r owning the slots [r, r + 1) * slots per rank; an expert in
  // several slots has replicas, which share its rows evenly. Empty: expert e in slot e. Comes from a plan (`experts:`),
  // not from the experiment.
  std::vector<std::vector<std::int32_t>> expert_at;
  // Rows that an expert accepts of each source rank, over what balance would send it; the rest is dropped
  // (workload_shape.h, expert_capacity). Nothing: dropless.
  std::optional<double> capacity_factor;
  bool pad_to_capacity = false; // every expert computes its whole capacity, whatever it received
  bool operator==(const RoutingSpec&) const = default;
};

// A named pattern with the imbalance it stands for. "max/mean" is the hottest EP rank over the mean of its group, one
// layer and micro-batch, averaged; the spread per expert is what a preset fixes, so max/mean grows with fewer experts
// per rank and more ranks. Checked in tests/oracle/routing_oracle_test.cpp.
//   preset    fitted to                                                               at          max/mean  generated
//   balanced  forced balance of benchmarks                                            any            1.00        1.00
//   mild      DeepSeek-V3, bias update, mid-to-late training (arXiv 2606.04101)       256/8 EP64     1.30        1.31
//   natural   between GLM-4.5-106B and Qwen3-235B, auxiliary loss (arXiv 2606.04101)  128/8 EP64     2.23, 2.86  2.53
//   skewed    Mixtral-8x7b-e16k4, no balancing loss (LAER-MoE trace, arXiv 2602.11686) 16/4 EP4      1.73        1.73
//   burst     first 2,720 micro-batches of a training (arXiv 2606.04101); median      32/4 EP8       1.41        1.40
// skewed also has the trace's standard deviation over ranks 0.41 (0.47), static part 0.37 (0.42), part per step 0.25
// (0.30), and correlations 0.84 0.80 0.69 (0.85 0.84 0.76) at 1, 2 and 5 steps; its growth over the 30 iterations
// (0.35 to 0.61) is not modelled, and e8k2 of the same trace (1.66) would need a smaller spread. burst lacks the
// measured tail to 5.3.
struct RoutingPreset {
  std::string name;
  std::string meaning;
  RoutingSpec spec;
};

// All presets, in the order of the table.
std::vector<RoutingPreset> routing_presets();

// nothing for an unknown name.
std::optional<RoutingSpec> routing_preset(const std::string& name);

} // namespace tessella
