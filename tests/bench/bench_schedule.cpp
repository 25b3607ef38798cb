// Generation, validation and replay of every schedule at 64 ranks, and their growth with the number of micro-batches.
// The bar: generating and validating any schedule at p=64, v=4, m=1024 takes at most 0.2 s and grows linearly.
//   build/tests/bench/bench_schedule --benchmark_filter=generate
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>

#include "sim/schedule/replay.h"
#include "sim/schedule/table.h"
#include "sim/schedule/validate.h"

using namespace tessella;

namespace {

constexpr std::int32_t kRanks = 64;

struct Case {
  ScheduleSpec spec;
  std::int32_t vpp = 1;
};

Case case_of(const ScheduleInfo& row) {
  Case c;
  c.spec.name = std::string(row.name);
  c.vpp = std::min(4, row.max_vpp.value_or(4));
  return c;
}

void set_complexity(benchmark::State& state, const Schedule& schedule) {
  std::int64_t slots = 0;
  for (const auto& list : schedule.ranks) slots += static_cast<std::int64_t>(list.size());
  state.SetComplexityN(slots);
  state.counters["slots"] = static_cast<double>(slots);
}

void generate_and_validate(benchmark::State& state, const Case& c) {
  const auto m = static_cast<std::int32_t>(state.range(0));
  for (auto _ : state) {
    const Schedule schedule = make_schedule(c.spec, kRanks, c.vpp, m);
    benchmark::DoNotOptimize(validate(schedule));
  }
  set_complexity(state, make_schedule(c.spec, kRanks, c.vpp, m));
}

void replay_once(benchmark::State& state, const Case& c) {
  const Schedule schedule = make_schedule(c.spec, kRanks, c.vpp, static_cast<std::int32_t>(state.range(0)));
  const ReplayTimes times{{{1000, 2000, 1100, 900}}, {2700}, 10, 0};
  for (auto _ : state) benchmark::DoNotOptimize(replay(schedule, times));
  set_complexity(state, schedule);
}

} // namespace

int main(int argc, char** argv) {
  for (const ScheduleInfo& row : schedule_table()) {
    const Case c = case_of(row);
    const auto add = [&](const std::string& name, auto run) {
      benchmark::RegisterBenchmark((name + c.spec.name).c_str(), run, c)
          ->RangeMultiplier(2)
          ->Range(128, 1024)
          ->Unit(benchmark::kMillisecond)
          ->Complexity(benchmark::oN);
    };
    add("generate_and_validate/", generate_and_validate);
    add("replay/", replay_once);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
