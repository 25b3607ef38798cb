// Scheduling pairs: heuristics and the exact search by chunk length, and the whole table of an overlap graph.
#include <benchmark/benchmark.h>

#include "sim/config/load.h"
#include "sim/planner/overlap/pair_candidates.h"
#include "sim/planner/simulate.h"

using namespace tessella;

namespace {

const Scenario& scenario() {
  static const Scenario s = load_scenario("experiments/13_fig13_overlap_heuristics/experiment.yaml", {});
  return s;
}

const ChunkLibrary& chunks() {
  static const ChunkLibrary library(scenario(), make_model_ops(scenario()));
  return library;
}

// Both chunks hold the first n layers.
PairProblem pair_of(std::int64_t n) {
  StageContent stage;
  stage.num_layers = static_cast<std::int32_t>(n);
  const ChunkSpec spec = chunk_spec(scenario().model, stage);
  return chunks().problem(spec, spec, {ActionKind::F, ActionKind::B});
}

void bm_pair(benchmark::State& state, OverlapMethod method) {
  const PairProblem problem = pair_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(schedule_pair(problem, method));
  state.SetComplexityN(state.range(0));
}
BENCHMARK_CAPTURE(bm_pair, align_defer, OverlapMethod::align_defer)
    ->RangeMultiplier(2)
    ->Range(1, 16)
    ->Unit(benchmark::kMicrosecond)
    ->Complexity();
BENCHMARK_CAPTURE(bm_pair, exact, OverlapMethod::exact)->DenseRange(1, 6)->Unit(benchmark::kMillisecond);

void bm_table(benchmark::State& state) {
  const auto pairs = candidate_pairs(scenario().model, scenario().partition, schedule_of(scenario()),
                                     static_cast<std::int32_t>(state.range(0)));
  for (auto _ : state) {
    PairCostTable table(chunks(), OverlapMethod::align_defer);
    table.fill(pairs, 1);
    benchmark::DoNotOptimize(table.size());
  }
  state.counters["pairs"] = static_cast<double>(pairs.size());
}
BENCHMARK(bm_table)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
