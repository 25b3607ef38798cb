// Chains of layers with round random costs, and stages whose memory caps bind here and there.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/rng.h"
#include "sim/planner/partition/partition_dp.h"

namespace tessella::testing {

// Layers of 1 to 5 ms, 1 to 4 GB of state and 0.1 to 0.4 GB of activations.
inline std::vector<ChainLayer> drawn_layers(std::uint64_t seed, std::size_t n) {
  const Stream stream(seed, Purpose::test);
  const auto upto = [&](std::uint64_t i, std::uint64_t most) {
    return static_cast<std::int64_t>(stream.word(i) % (most + 1));
  };
  std::vector<ChainLayer> layers(n);
  for (std::size_t i = 0; i < n; ++i)
    layers[i] = {effective_cost({Duration{1'000'000'000 + upto(4 * i, 3'000'000'000)},
                                 Duration{upto(4 * i + 1, 2'000'000'000)}, Duration{upto(4 * i + 2, 500'000'000)}}),
                 Bytes{1'000'000'000 + upto(4 * i + 3, 3'000'000'000)},
                 Bytes{100'000'000 + 10'000'000 * static_cast<std::int64_t>(i % 31)}};
  return layers;
}

// 1F1B: a stage holds as many micro-batches as stages follow it, at most 8; caps of 1.7 times the mean need.
inline std::vector<ChainStage> drawn_stages(std::uint64_t seed, std::size_t n, const std::vector<ChainLayer>& layers) {
  std::vector<ChainStage> stages(n);
  Bytes state, activation;
  for (const ChainLayer& l : layers) state += l.state, activation += l.activation;
  for (std::size_t s = 0; s < n; ++s) {
    stages[s].time = Duration{static_cast<std::int64_t>(Stream(seed, Purpose::test, 1).word(s) % 1'000'000'000)};
    stages[s].in_flight = static_cast<std::int64_t>(n - s < 8 ? n - s : 8);
    const std::int64_t mean = (state.count + stages[s].in_flight * activation.count) / static_cast<std::int64_t>(n);
    stages[s].cap = Bytes{mean / 10 * 17};
  }
  return stages;
}

} // namespace tessella::testing
