// The additive partitioner: effective costs, edge cases, speed.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

#include "sim/base/rng.h"
#include "sim/planner/partition/partition_dp.h"

using namespace tessella;

namespace {

std::vector<ChainLayer> chain(std::initializer_list<std::int64_t> times) {
  std::vector<ChainLayer> layers;
  for (const std::int64_t t : times) layers.push_back({Duration{t}, {}, {}});
  return layers;
}

} // namespace

TEST_CASE("The additive cost: max of compute and communication, plus what never hides") {
  const LayerTimes layer{Duration{10}, Duration{6}, Duration{3}};
  CHECK(effective_cost(layer) == Duration{13});
  CHECK(effective_cost({Duration{6}, Duration{10}, Duration{3}}) == Duration{13});
  CHECK(effective_cost(layer, 0.0) == Duration{19});
  CHECK(effective_cost(layer, 0.5) == Duration{16});
  CHECK_THROWS_AS(effective_cost(layer, 1.5), InternalError);
}

TEST_CASE("Fixed work of the first and last stage counts") {
  // Four equal layers over two stages: a head worth two layers moves the boundary.
  const auto layers = chain({10, 10, 10, 10});
  std::vector<ChainStage> stages(2);
  CHECK(min_max_chain(layers, stages)->ends == std::vector<std::int32_t>{2, 4});
  stages[1].time = Duration{20};
  const auto best = min_max_chain(layers, stages);
  CHECK(best->ends == std::vector<std::int32_t>{3, 4});
  CHECK(best->bottleneck == Duration{30});
}

TEST_CASE("Among equal bottlenecks the evenest partition wins") {
  // Nine unit layers over four stages: 3 is the best maximum; 3 3 2 1 and 3 3 3 0 attain it too.
  const std::vector<ChainStage> stages(4);
  std::vector<std::int32_t> ends = min_max_chain(chain({1, 1, 1, 1, 1, 1, 1, 1, 1}), stages, true)->ends;
  std::vector<std::int32_t> sizes = {ends[0], ends[1] - ends[0], ends[2] - ends[1], ends[3] - ends[2]};
  std::sort(sizes.begin(), sizes.end());
  CHECK(sizes == std::vector<std::int32_t>{2, 2, 2, 3});
}

TEST_CASE("Empty stages only on request") {
  const auto layers = chain({5, 7});
  const std::vector<ChainStage> stages(3);
  CHECK_FALSE(min_max_chain(layers, stages));
  const auto best = min_max_chain(layers, stages, true);
  REQUIRE(best);
  CHECK(best->bottleneck == Duration{7});
  CHECK_FALSE(min_max_chain(layers, std::vector<ChainStage>{}));
}

TEST_CASE("Where greedy farthest reach fails: a cap that the middle layer breaks in the last stage") {
  // Stage 0 could take two layers, but then stage 1 must take layer 2 alone, which its cap forbids.
  const std::vector<ChainLayer> layers = {{Duration{1}, Bytes{1}, {}},
                                          {Duration{1}, Bytes{1}, {}},
                                          {Duration{1}, Bytes{9}, {}},
                                          {Duration{1}, Bytes{1}, {}}};
  std::vector<ChainStage> stages(3);
  stages[0].cap = Bytes{2};
  stages[1].cap = Bytes{2};
  stages[2].cap = Bytes{10};
  const auto best = min_max_chain(layers, stages);
  REQUIRE(best);
  CHECK(best->ends == std::vector<std::int32_t>{1, 2, 4});
  CHECK(best->bottleneck == Duration{2});
}

TEST_CASE("Infeasible memory: which stage, and how much is missing") {
  // 1F1B over two stages: stage 0 keeps two micro-batches. Layers 0 and 1 need 2 * 10 + 5 and 10 + 5 at the least.
  const std::vector<ChainLayer> layers = {{Duration{1}, Bytes{5}, Bytes{10}}, {Duration{1}, Bytes{5}, Bytes{10}}};
  std::vector<ChainStage> stages(2);
  stages[0] = {{}, {}, 2, Bytes{22}};
  stages[1] = {{}, {}, 1, Bytes{22}};
  CHECK_FALSE(min_max_chain(layers, stages));
  CHECK(memory_shortfall(layers, stages) == MemoryShortfall{Bytes{3}, 0});
  stages[0].cap = stages[1].cap = Bytes{25};
  CHECK(min_max_chain(layers, stages));
  CHECK_FALSE(memory_shortfall(layers, stages));
}

TEST_CASE("128 layers over 64 stages with caps in less than 5 ms") {
  const Stream draws(7, Purpose::test);
  std::vector<ChainLayer> layers;
  for (std::uint64_t i = 0; i < 128; ++i)
    layers.push_back({Duration{static_cast<std::int64_t>(1'000'000'000 + draws.word(i) % 9'000'000'000)},
                      Bytes{1 << 20}, Bytes{1 << 16}});
  std::vector<ChainStage> stages(64);
  for (std::size_t s = 0; s < 64; ++s) stages[s] = {{}, {}, static_cast<std::int64_t>(64 - s), Bytes{64LL << 20}};
  double fastest = 1.0;
  std::optional<ChainPartition> best;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    best = min_max_chain(layers, stages);
    fastest = std::min(fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  REQUIRE(best);
  MESSAGE("128 layers x 64 stages: " << fastest * 1e3 << " ms");
  CHECK(fastest < 5e-3);
}
