// Speed of the kernel and of a whole pipeline: event queue, clocks of a group, a step with every rank simulated.
#include <benchmark/benchmark.h>

#include "sim/base/rng.h"
#include "sim/engine/clocks.h"
#include "sim/engine/event_queue.h"
#include "sim/exec/lower.h"
#include "sim/exec/run.h"
#include "sim/schedule/table.h"

namespace {

using namespace tessella;

// Hold model: a queue of n events, each step takes the first and schedules one later.
void bm_event_queue(benchmark::State& state) {
  const auto n = state.range(0);
  const Stream dice(1, Purpose::test);
  EventQueue q(static_cast<std::size_t>(n));
  std::uint64_t draw = 0;
  for (std::int64_t i = 0; i < n; ++i) q.push(Time{static_cast<std::int64_t>(dice.word(draw++) % 1000)}, 0);
  for (auto _ : state) {
    const Event e = q.pop();
    q.push(e.at + Duration{static_cast<std::int64_t>(dice.word(draw++) % 1000)}, 0);
  }
  state.SetComplexityN(n);
}
BENCHMARK(bm_event_queue)->RangeMultiplier(8)->Range(8, 1 << 15)->Complexity(benchmark::oLogN);

void bm_clocks_meet(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<Time> clock(n);
  std::vector<Duration> waited(n);
  for (auto _ : state) {
    meet(clock, n, Duration{7}, waited);
    benchmark::DoNotOptimize(clock.data());
  }
  state.SetComplexityN(state.range(0));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(bm_clocks_meet)->RangeMultiplier(4)->Range(8, 2048)->Complexity(benchmark::oN);

Scenario uniform(std::int64_t replicas, std::int64_t micro_batches) {
  Scenario s;
  s.parallelism.pp = 16;
  s.parallelism.world_size = 16 * replicas;
  s.batch.global_batch_size = replicas * micro_batches;
  ProfileEntry e;
  e.op = e.form = "uniform_stage";
  e.params = {{"forward", 1e-3}, {"backward", 2e-3}};
  s.profile.entries.push_back(e);
  return s;
}

void bm_schedule_and_lower(benchmark::State& state) {
  const Scenario s = uniform(1, state.range(0));
  for (auto _ : state) {
    const Schedule order = make_schedule({}, 16, 1, static_cast<std::int32_t>(state.range(0)));
    benchmark::DoNotOptimize(lower_uniform(s, order));
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(bm_schedule_and_lower)->RangeMultiplier(2)->Range(32, 512)->Complexity(benchmark::oN);

// Plain 1F1B, PP16, every rank of every replica simulated. Linear in replicas and in micro-batches.
void bm_step_replicas(benchmark::State& state) {
  const Scenario s = uniform(state.range(0), 64);
  const Program p = lower_uniform(s, make_schedule({}, 16, 1, 64));
  RunOptions options;
  options.fold_identical_replicas = false;
  for (auto _ : state) benchmark::DoNotOptimize(run_program(p, nullptr, true, options));
  state.SetComplexityN(state.range(0));
  state.SetItemsProcessed(state.iterations() * state.range(0) * 16 * 64 * 2);
}
BENCHMARK(bm_step_replicas)
    ->RangeMultiplier(2)
    ->Range(12, 768)
    ->Complexity(benchmark::oN)
    ->Unit(benchmark::kMillisecond);

void bm_step_micro_batches(benchmark::State& state) {
  const Scenario s = uniform(8, state.range(0));
  const Program p = lower_uniform(s, make_schedule({}, 16, 1, static_cast<std::int32_t>(state.range(0))));
  RunOptions options;
  options.fold_identical_replicas = false;
  for (auto _ : state) benchmark::DoNotOptimize(run_program(p, nullptr, true, options));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(bm_step_micro_batches)
    ->RangeMultiplier(2)
    ->Range(32, 1024)
    ->Complexity(benchmark::oN)
    ->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
