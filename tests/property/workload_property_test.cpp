// Laws of routing draws: rows are conserved, the fast draw per rank and the exact draw per expert agree in their first
// two moments, the drift is the AR(1) it claims to be, and loads cost what case 29 expects of them.
#include <doctest/doctest.h>

#include <numeric>

#include "sim/workload/loads.h"
#include "tests/support/routing_moments.h"

using namespace tessella;
using namespace tessella::test;

namespace {

RoutingSpec generator(double static_sigma, double drift_sigma, double phi, double noise_sigma) {
  RoutingSpec spec;
  spec.kind = RoutingKind::generator;
  spec.static_sigma = static_sigma;
  spec.drift_sigma = drift_sigma;
  spec.drift_phi = phi;
  spec.noise_sigma = noise_sigma;
  return spec;
}

std::int64_t total(std::span<const std::int32_t> rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

struct Samples {
  std::vector<std::vector<double>> rank; // [rank][draw]
  std::vector<double> hottest;           // over the mean
};

// Rank loads of many micro-batches, drawn per rank or per expert and summed.
Samples draw(const StepRouting& step, const WorkloadShape& shape, std::int64_t draws, bool per_expert) {
  Samples s;
  s.rank.resize(static_cast<std::size_t>(shape.ep));
  std::vector<std::int32_t> rows(static_cast<std::size_t>(per_expert ? shape.num_experts : shape.ep));
  const std::size_t per_rank = rows.size() / s.rank.size();
  for (std::int64_t mb = 0; mb < draws; ++mb) {
    if (per_expert)
      step.expert_loads(0, mb, 0, rows);
    else
      step.rank_loads(0, mb, 0, rows);
    double hottest = 0.0;
    for (std::size_t r = 0; r < s.rank.size(); ++r) {
      const auto load = static_cast<double>(total(std::span(rows).subspan(r * per_rank, per_rank)));
      s.rank[r].push_back(load);
      hottest = std::max(hottest, load);
    }
    s.hottest.push_back(hottest * static_cast<double>(shape.ep) / static_cast<double>(shape.rows()));
  }
  return s;
}

void check_same_moments(const RoutingSpec& spec, const WorkloadShape& shape, double relative_variance) {
  constexpr std::int64_t kDraws = 20'000;
  const StepRouting step = RoutingModel(spec, shape, 3).prepare(0);
  const Samples fast = draw(step, shape, kDraws, false);
  const Samples exact = draw(step, shape, kDraws, true);
  for (std::size_t r = 0; r < fast.rank.size(); ++r) {
    const double var = variance(exact.rank[r]);
    CHECK(std::abs(mean(fast.rank[r]) - mean(exact.rank[r])) < 4.5 * std::sqrt(2.0 * var / kDraws) + 0.01);
    CHECK(variance(fast.rank[r]) == doctest::Approx(var).epsilon(relative_variance));
  }
  CHECK(std::abs(correlation(fast.rank[0], fast.rank[1]) - correlation(exact.rank[0], exact.rank[1])) < 0.05);
  CHECK(mean(fast.hottest) == doctest::Approx(mean(exact.hottest)).epsilon(0.01));
}

} // namespace

TEST_CASE("rows are conserved and never negative, for every kind and size") {
  const Stream dice(5, Purpose::test);
  for (std::uint64_t i = 0; i < 3'000; ++i) {
    const auto roll = [&](std::uint64_t k, std::uint64_t n) {
      return static_cast<std::int64_t>(dice.word(16 * i + k) % n);
    };
    WorkloadShape shape;
    shape.layers = 2;
    shape.ep = std::int64_t{1} << roll(0, 8);
    if (roll(1, 4) == 0) shape.ep = 1 + roll(2, 200);
    shape.num_experts = shape.ep * (1 + roll(3, 4));
    shape.router_topk = 1 + roll(4, 10);
    shape.tokens_per_rank = 1 + roll(5, roll(6, 2) == 0 ? 10 : 16'384);
    const RoutingSpec spec =
        generator(0.02 * static_cast<double>(roll(7, 100)), 0.4, 0.9, 0.01 * static_cast<double>(roll(8, 100)));
    const StepRouting step = RoutingModel(spec, shape, i).prepare(0);
    std::vector<std::int32_t> ranks(static_cast<std::size_t>(shape.ep));
    step.rank_loads(1, roll(9, 1000), roll(10, 100), ranks);
    CHECK(total(ranks) == shape.rows());
    CHECK(*std::min_element(ranks.begin(), ranks.end()) >= 0);
    std::vector<std::int32_t> experts(static_cast<std::size_t>(shape.num_experts));
    step.expert_loads(1, roll(9, 1000), roll(10, 100), experts);
    CHECK(total(experts) == shape.rows());
    CHECK(*std::min_element(experts.begin(), experts.end()) >= 0);
  }
}

TEST_CASE("the largest group is conserved, too, and absurd spreads stay in bounds") {
  const WorkloadShape shape{1, 1024, 8, 512, kMaxRows / 512 / 8, 1};
  CHECK(shape.rows() == kMaxRows);
  for (const double sigma : {0.0, 0.1, 1.0, 4.0}) {
    const StepRouting step = RoutingModel(generator(sigma, sigma, 0.9, sigma), shape, 1).prepare(0);
    std::vector<std::int32_t> ranks(512);
    for (std::int64_t mb = 0; mb < 50; ++mb) {
      step.rank_loads(0, mb, 0, ranks);
      CHECK(total(ranks) == kMaxRows);
      CHECK(*std::min_element(ranks.begin(), ranks.end()) >= 0);
    }
  }
}

TEST_CASE("fast and exact draws have the same first two moments") {
  check_same_moments(generator(0.4, 0.3, 0.95, 0.0), {1, 32, 4, 8, 512, 1}, 0.06);  // multinomial alone
  check_same_moments(generator(0.4, 0.3, 0.95, 0.18), {1, 32, 4, 8, 512, 1}, 0.06); // natural noise
  check_same_moments(generator(0.4, 0.3, 0.95, 0.5), {1, 64, 8, 16, 4096, 1}, 0.08);
  check_same_moments(generator(0.55, 0.75, 0.95, 0.2), {1, 16, 4, 4, 1024, 1}, 0.06);
  check_same_moments(generator(1.0, 0.0, 0.0, 0.5), {1, 64, 8, 16, 4096, 1}, 0.1); // ranks of unlike variance
  check_same_moments(generator(0.4, 0.3, 0.95, 0.18), {1, 32, 4, 8, 8, 1}, 0.08);  // 32 rows per rank
}

TEST_CASE("without spread and noise only the multinomial is left") {
  const WorkloadShape shape{1, 16, 4, 4, 1024, 1};
  const Samples s = draw(RoutingModel(generator(0, 0, 0, 0), shape, 1).prepare(0), shape, 20'000, false);
  const double rows = static_cast<double>(shape.rows());
  for (const auto& rank : s.rank) {
    CHECK(mean(rank) == doctest::Approx(rows / 4).epsilon(0.001));
    CHECK(variance(rank) == doctest::Approx(rows * 0.25 * 0.75).epsilon(0.05));
  }
  CHECK(correlation(s.rank[0], s.rank[1]) == doctest::Approx(-1.0 / 3.0).epsilon(0.1));
}

TEST_CASE("static and drift of the log-weights have the given spread and memory") {
  const WorkloadShape shape{8, 256, 8, 8, 16, 300};
  const double phi = 0.8;
  const auto log_weights = [](const StepRouting& step, std::int64_t layer) {
    std::vector<double> logs;
    for (const double share : step.expert_shares(layer)) logs.push_back(std::log(share));
    const double m = mean(logs);
    for (double& l : logs) l -= m;
    return logs;
  };
  const RoutingModel statics(generator(0.4, 0.0, 0.0, 0.1), shape, 1);
  CHECK(log_weights(statics.prepare(0), 0) == log_weights(statics.prepare(3), 0));
  double spread = 0.0;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    spread += variance(log_weights(statics.prepare(0), layer)) / static_cast<double>(shape.layers);
  CHECK(std::sqrt(spread) == doctest::Approx(0.4).epsilon(0.06));

  const RoutingModel drifting(generator(0.0, 0.3, phi, 0.1), shape, 1);
  StepRouting step = drifting.prepare(0);
  std::vector<double> var(2, 0.0);
  std::vector<std::vector<double>> history;
  for (std::int64_t s = 0; s < shape.steps; ++s) {
    if (s > 0) step = drifting.next(step);
    history.push_back(log_weights(step, 5));
    var[s < 150 ? 0 : 1] += variance(history.back()) / 150.0;
  }
  CHECK(std::sqrt(var[0]) == doctest::Approx(0.3).epsilon(0.06)); // stationary from the first step on
  CHECK(std::sqrt(var[1]) == doctest::Approx(0.3).epsilon(0.06));
  CHECK(mean_correlation(history, 1) == doctest::Approx(phi).epsilon(0.03));
  CHECK(mean_correlation(history, 3) == doctest::Approx(phi * phi * phi).epsilon(0.06));
  CHECK(std::abs(mean_correlation(history, 40)) < 0.03);
}

TEST_CASE("noise and tokens differ between replicas and micro-batches, static and drift do not") {
  const WorkloadShape shape{1, 64, 8, 16, 4096, 1};
  const StepRouting step = RoutingModel(generator(0.5, 0.3, 0.9, 0.05), shape, 1).prepare(0);
  const Samples s = draw(step, shape, 200, false);
  std::vector<double> first;
  std::vector<double> second;
  for (const auto& rank : s.rank) {
    first.push_back(rank[0]);
    second.push_back(rank[1]);
  }
  CHECK(first != second);
  CHECK(correlation(first, second) > 0.95);
}

TEST_CASE("case 29: uniform loads equal balanced, and no loads beat them") {
  const WorkloadShape shape{4, 128, 8, 2, 8 * 4096, 1}; // the measured plan: 128 experts, top-8, EP 2, batch 8
  std::vector<std::int32_t> balanced(2);
  std::vector<std::int32_t> balanced_experts(128);
  const StepRouting even = RoutingModel(RoutingSpec{}, shape, 1).prepare(0);
  even.rank_loads(0, 0, 0, balanced);
  even.expert_loads(0, 0, 0, balanced_experts);
  const Stream dice(9, Purpose::test);
  for (std::uint64_t i = 0; i < 400; ++i) {
    RoutingSpec spec;
    spec.kind = RoutingKind::loads;
    const bool uniform = i < 20;
    const std::size_t columns = i % 2 == 0 ? 2 : 128;
    for (std::size_t c = 0; c < columns; ++c)
      spec.loads.push_back(uniform ? 0.1 * static_cast<double>(i + 1) : dice.uniform(1000 * i + c));
    std::vector<std::int32_t> ranks(2);
    std::vector<std::int32_t> experts(128);
    const StepRouting step = RoutingModel(spec, shape, 1).prepare(0);
    step.rank_loads(0, 0, 0, ranks);
    step.expert_loads(0, 0, 0, experts);
    CHECK(total(ranks) == total(balanced));
    CHECK(*std::max_element(ranks.begin(), ranks.end()) >= balanced[0]);
    if (uniform) CHECK(ranks == balanced);
    if (uniform) CHECK(experts == balanced_experts);
  }
}

TEST_CASE("case 29: the hottest rank follows the largest load") {
  const WorkloadShape shape{1, 128, 8, 4, 4096, 1};
  std::int32_t before = 0;
  for (int i = 0; i <= 40; ++i) {
    RoutingSpec spec;
    spec.kind = RoutingKind::loads;
    const double hot = 1.0 + 0.05 * i;
    spec.loads = {hot, (4.0 - hot) / 3.0, (4.0 - hot) / 3.0, (4.0 - hot) / 3.0};
    std::vector<std::int32_t> ranks(4);
    RoutingModel(spec, shape, 1).prepare(0).rank_loads(0, 0, 0, ranks);
    CHECK(ranks[0] >= before);
    CHECK(ranks[0] == doctest::Approx(hot * static_cast<double>(shape.rows()) / 4.0).epsilon(1e-4));
    before = ranks[0];
  }
}

TEST_CASE("capacity: what is not dropped arrives, and no rank gets more than its experts accept") {
  const Stream dice(11, Purpose::test);
  for (std::uint64_t i = 0; i < 400; ++i) {
    const auto roll = [&](std::uint64_t k, std::uint64_t n) {
      return static_cast<std::int64_t>(dice.word(8 * i + k) % n);
    };
    WorkloadShape shape{2, 0, 1 + roll(0, 8), std::int64_t{2} << roll(1, 5), 16 + roll(2, 4096), 2};
    shape.num_experts = shape.ep * (1 + roll(3, 4));
    RoutingSpec spec = generator(0.5, 0.3, 0.9, 0.3);
    spec.capacity_factor = 0.5 + 0.25 * static_cast<double>(roll(4, 8));
    const std::int64_t accepted = *expert_capacity(spec, shape) * shape.experts_per_rank();
    std::vector<std::int32_t> out(static_cast<std::size_t>(shape.ep));
    const StepRouting step = RoutingModel(spec, shape, i).prepare(1);
    const RoutedRows rows = step.rank_loads(1, 3, 2, out);
    CHECK(rows.routed == shape.rows());
    CHECK(rows.dropped >= 0);
    CHECK(total(out) == rows.routed - rows.dropped);
    CHECK(*std::max_element(out.begin(), out.end()) <= accepted);
    spec.pad_to_capacity = true;
    const RoutedRows padded = RoutingModel(spec, shape, i).prepare(1).rank_loads(1, 3, 2, out);
    CHECK(padded == rows); // the same tokens are dropped
    for (const std::int32_t o : out) CHECK(o == accepted);
  }
}

TEST_CASE("capacity: the share that is dropped is that of the exact generator") {
  const WorkloadShape shape{1, 64, 8, 16, 1024, 1};
  for (const double factor : {1.0, 1.25, 2.0}) {
    RoutingSpec spec = generator(0.46, 0.3, 0.94, 0.18);
    spec.capacity_factor = factor;
    const StepRouting step = RoutingModel(spec, shape, 3).prepare(0);
    const std::int64_t capacity = *expert_capacity(spec, shape);
    double fast = 0.0;
    double exact = 0.0;
    std::vector<std::int32_t> ranks(16);
    std::vector<std::int32_t> experts(64);
    constexpr std::int64_t kDraws = 300;
    for (std::int64_t mb = 0; mb < kDraws; ++mb) {
      fast += static_cast<double>(step.rank_loads(0, mb, 0, ranks).dropped);
      step.expert_loads(0, mb, 0, experts);
      for (const std::int32_t e : experts) exact += static_cast<double>(std::max<std::int64_t>(0, e - capacity));
    }
    CHECK(exact > 0.0);
    CHECK(fast == doctest::Approx(exact).epsilon(0.03));
  }
}

TEST_CASE("a capacity that nobody reaches drops nothing, and balanced routing reaches none of 1") {
  const WorkloadShape shape{1, 64, 8, 16, 1024, 1};
  std::vector<std::int32_t> out(16);
  RoutingSpec spec = generator(0.46, 0.3, 0.94, 0.18);
  spec.capacity_factor = 50.0;
  CHECK(RoutingModel(spec, shape, 3).prepare(0).rank_loads(0, 0, 0, out).dropped == 0);
  CHECK(total(out) == shape.rows());
  RoutingSpec even;
  even.capacity_factor = 1.0;
  CHECK(RoutingModel(even, shape, 3).prepare(0).rank_loads(0, 0, 0, out) == RoutedRows{shape.rows(), 0});
  even.capacity_factor = 0.5;
  CHECK(RoutingModel(even, shape, 3).prepare(0).rank_loads(0, 0, 0, out) == RoutedRows{shape.rows(), shape.rows() / 2});
  for (const std::int32_t o : out) CHECK(o == shape.rows() / 32);
}

TEST_CASE("replicas share the rows of their expert evenly, drawn or given") {
  const WorkloadShape shape{1, 4, 1, 2, 4096, 1};
  RoutingSpec spec;
  spec.kind = RoutingKind::loads;
  spec.loads = {8, 4, 2, 2}; // ranks: 12 and 4 of 16
  std::vector<std::int32_t> out(2);
  RoutingModel(spec, shape, 1).prepare(0).rank_loads(0, 0, 0, out);
  CHECK(out == std::vector<std::int32_t>{6144, 2048});
  spec.expert_at = {{0, 1, 2, 0, 3, 2}}; // 4 + 4 + 1 and 4 + 2 + 1
  RoutingModel(spec, shape, 1).prepare(0).rank_loads(0, 0, 0, out);
  CHECK(out == std::vector<std::int32_t>{4608, 3584});
  std::vector<std::int32_t> experts(4);
  RoutingModel(spec, shape, 1).prepare(0).expert_loads(0, 0, 0, experts);
  CHECK(experts == std::vector<std::int32_t>{4096, 2048, 1024, 1024});
  RoutingSpec drawn = generator(0.8, 0.0, 0.9, 0.1);
  drawn.expert_at = spec.expert_at;
  const StepRouting step = RoutingModel(drawn, shape, 2).prepare(0);
  const auto share = step.expert_shares(0);
  const Samples s = draw(step, shape, 20'000, false);
  CHECK(mean(s.rank[0]) / static_cast<double>(shape.rows()) ==
        doctest::Approx(share[0] / 2 + share[1] + share[2] / 2).epsilon(0.01));
}
