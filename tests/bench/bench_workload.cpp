// Routing draws of one full step at the size of a 12,288-GPU job: 96 MoE layers, 128 micro-batches, 12 EP groups of 64
// ranks, 512 experts, top-10. Target: all rank_loads of a step within 0.15 s on one core.
#include <benchmark/benchmark.h>

#include "sim/workload/loads.h"
#include "sim/workload/normal_table.h"

using namespace tessella;

namespace {

const WorkloadShape kShape{96, 512, 10, 64, 4096, 64};

RoutingModel model() {
  return {*routing_preset("natural"), kShape, 1};
}

void full_step(benchmark::State& state) {
  const RoutingModel routing = model();
  std::vector<std::int32_t> out(static_cast<std::size_t>(kShape.ep));
  std::int64_t hottest = 0;
  for (auto _ : state) {
    const StepRouting step = routing.prepare(0);
    for (std::int64_t micro_batch = 0; micro_batch < 128; ++micro_batch)
      for (std::int64_t layer = 0; layer < kShape.layers; ++layer)
        for (std::int64_t replica = 0; replica < 12; ++replica) {
          step.rank_loads(layer, micro_batch, replica, out);
          hottest += out[7];
        }
  }
  benchmark::DoNotOptimize(hottest);
  state.SetItemsProcessed(state.iterations() * 96 * 128 * 12);
}

void rank_loads(benchmark::State& state) {
  WorkloadShape shape = kShape;
  shape.ep = state.range(0);
  const RoutingModel routing(*routing_preset("natural"), shape, 1);
  const StepRouting step = routing.prepare(0);
  std::vector<std::int32_t> out(static_cast<std::size_t>(shape.ep));
  std::int64_t micro_batch = 0;
  for (auto _ : state) {
    step.rank_loads(micro_batch % 96, micro_batch, 0, out);
    ++micro_batch;
    benchmark::DoNotOptimize(out.data());
  }
  state.SetComplexityN(state.range(0));
}

void expert_loads(benchmark::State& state) {
  const RoutingModel routing = model();
  const StepRouting step = routing.prepare(0);
  std::vector<std::int32_t> out(static_cast<std::size_t>(kShape.num_experts));
  std::int64_t micro_batch = 0;
  for (auto _ : state) {
    step.expert_loads(micro_batch % 96, micro_batch, 0, out);
    ++micro_batch;
    benchmark::DoNotOptimize(out.data());
  }
}

void prepare_next_step(benchmark::State& state) {
  const RoutingModel routing = model();
  const StepRouting first = routing.prepare(0);
  for (auto _ : state) benchmark::DoNotOptimize(routing.next(first));
}

void normal_deviate(benchmark::State& state) {
  const NormalTable& normal = normal_table();
  const Stream stream(1, Purpose::test);
  std::uint64_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(normal(static_cast<std::uint32_t>(stream.word(i++))));
}

} // namespace

BENCHMARK(full_step)->Unit(benchmark::kMillisecond);
BENCHMARK(rank_loads)->RangeMultiplier(2)->Range(4, 512)->Complexity(benchmark::oN);
BENCHMARK(expert_loads);
BENCHMARK(prepare_next_step)->Unit(benchmark::kMillisecond);
BENCHMARK(normal_deviate);

BENCHMARK_MAIN();
