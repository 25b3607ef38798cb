// Partitioners by size: the additive one up to 128 layers on 64 stages, and the rank-sum search on one schedule.
#include <benchmark/benchmark.h>

#include "tests/support/chains.h"

using namespace tessella;

namespace {

void bm_additive(benchmark::State& state) {
  const auto layers = testing::drawn_layers(7, static_cast<std::size_t>(state.range(0)));
  const auto stages = testing::drawn_stages(7, static_cast<std::size_t>(state.range(0) / 2), layers);
  for (auto _ : state) benchmark::DoNotOptimize(min_max_chain(layers, stages));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(bm_additive)->RangeMultiplier(2)->Range(16, 512)->Unit(benchmark::kMillisecond)->Complexity();

} // namespace

BENCHMARK_MAIN();
