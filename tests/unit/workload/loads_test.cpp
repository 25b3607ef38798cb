#include "sim/workload/loads.h"

#include <doctest/doctest.h>

#include <numeric>
#include <thread>

using namespace tessella;

namespace {

using Rows = std::vector<std::int32_t>;

const WorkloadShape kShape{3, 16, 4, 4, 1000, 5};

Rows rank_loads(const StepRouting& step, const WorkloadShape& shape, std::int64_t layer, std::int64_t micro_batch,
                std::int64_t replica) {
  Rows out(static_cast<std::size_t>(shape.ep));
  step.rank_loads(layer, micro_batch, replica, out);
  return out;
}

Rows expert_loads(const StepRouting& step, const WorkloadShape& shape, std::int64_t layer, std::int64_t micro_batch,
                  std::int64_t replica) {
  Rows out(static_cast<std::size_t>(shape.num_experts));
  step.expert_loads(layer, micro_batch, replica, out);
  return out;
}

RoutingSpec with_loads(std::vector<double> loads) {
  RoutingSpec spec;
  spec.kind = RoutingKind::loads;
  spec.loads = std::move(loads);
  return spec;
}

RoutingModel drifting(std::uint64_t seed = 1) {
  RoutingSpec spec;
  spec.kind = RoutingKind::generator;
  spec.static_sigma = 0.40;
  spec.drift_sigma = 0.27;
  spec.drift_phi = 0.94;
  spec.noise_sigma = 0.18;
  return {spec, kShape, seed};
}

} // namespace

TEST_CASE("balanced gives exactly the mean to every rank") {
  const RoutingModel model(RoutingSpec{}, kShape, 1);
  CHECK_FALSE(model.drawn());
  CHECK_FALSE(model.changes_between_steps());
  const StepRouting step = model.prepare(2);
  CHECK(rank_loads(step, kShape, 2, 77, 5) == Rows(4, 4000));
  CHECK(expert_loads(step, kShape, 2, 77, 5) == Rows(16, 1000));
  CHECK(step.expert_shares(0)[3] == doctest::Approx(1.0 / 16.0));
}

TEST_CASE("balanced rows that experts cannot share evenly stay exact per rank") {
  const WorkloadShape shape{1, 16, 3, 4, 7, 1}; // 21 rows per rank over 4 experts
  const StepRouting step = RoutingModel(RoutingSpec{}, shape, 1).prepare(0);
  CHECK(rank_loads(step, shape, 0, 0, 0) == Rows(4, 21));
  CHECK(expert_loads(step, shape, 0, 0, 0) == Rows{6, 5, 5, 5, 6, 5, 5, 5, 6, 5, 5, 5, 6, 5, 5, 5});
}

TEST_CASE("loads per rank and per expert, any scale") {
  const StepRouting per_rank = RoutingModel(with_loads({1, 3, 0, 4}), kShape, 1).prepare(0);
  CHECK(rank_loads(per_rank, kShape, 0, 0, 0) == Rows{2000, 6000, 0, 8000});
  CHECK(expert_loads(per_rank, kShape, 1, 3, 2) ==
        Rows{500, 500, 500, 500, 1500, 1500, 1500, 1500, 0, 0, 0, 0, 2000, 2000, 2000, 2000});
  std::vector<double> loads(16, 0.5);
  loads[0] = 2.0;
  loads[15] = 0.0;
  const StepRouting per_expert = RoutingModel(with_loads(loads), kShape, 1).prepare(0);
  CHECK(rank_loads(per_expert, kShape, 0, 0, 0) == Rows{6222, 3556, 3555, 2667});
  CHECK(expert_loads(per_expert, kShape, 0, 0, 0)[0] == 3555);
  CHECK(expert_loads(per_expert, kShape, 0, 0, 0)[15] == 0);
}

TEST_CASE("a trace is replayed step by step, exactly where the totals agree") {
  RoutingSpec spec;
  spec.kind = RoutingKind::trace;
  spec.trace = {5, 1, 4, {}};
  for (std::int64_t i = 0; i < 5; ++i)
    spec.trace.tokens.insert(spec.trace.tokens.end(), {4000 + i, 4000, 4000 - i, 4000});
  const RoutingModel model(spec, kShape, 1);
  CHECK(model.changes_between_steps());
  const StepRouting step = model.prepare(3);
  CHECK(rank_loads(step, kShape, 0, 0, 0) == Rows{4003, 4000, 3997, 4000});
  CHECK(rank_loads(step, kShape, 2, 9, 9) == Rows{4003, 4000, 3997, 4000});
  CHECK(rank_loads(model.next(step), kShape, 0, 0, 0) == Rows{4004, 4000, 3996, 4000});
}

TEST_CASE("a draw depends on its arguments and the seed, on nothing else") {
  const RoutingModel model = drifting();
  const StepRouting step = model.prepare(1);
  const Rows first = rank_loads(step, kShape, 1, 2, 3);
  rank_loads(step, kShape, 0, 0, 0);
  CHECK(rank_loads(step, kShape, 1, 2, 3) == first);
  CHECK(rank_loads(model.prepare(1), kShape, 1, 2, 3) == first);
  CHECK(rank_loads(step, kShape, 1, 2, 4) != first);
  CHECK(rank_loads(step, kShape, 1, 3, 3) != first);
  CHECK(rank_loads(step, kShape, 2, 2, 3) != first);
  CHECK(rank_loads(step, kShape, 1, 3, 2) != first);
  CHECK(rank_loads(model.prepare(2), kShape, 1, 2, 3) != first);
  CHECK(rank_loads(drifting(2).prepare(1), kShape, 1, 2, 3) != first);
  CHECK(expert_loads(step, kShape, 1, 2, 3) == expert_loads(step, kShape, 1, 2, 3));
  CHECK(expert_loads(step, kShape, 1, 2, 3) != expert_loads(step, kShape, 1, 2, 4));
}

TEST_CASE("next is prepare of the following step, bit for bit") {
  const RoutingModel model = drifting();
  StepRouting step = model.prepare(0);
  for (std::int64_t s = 1; s < kShape.steps; ++s) {
    step = model.next(step);
    const StepRouting fresh = model.prepare(s);
    CHECK(step.step() == s);
    for (std::int64_t layer = 0; layer < kShape.layers; ++layer) {
      const auto a = step.expert_shares(layer);
      const auto b = fresh.expert_shares(layer);
      CHECK(std::vector<double>(a.begin(), a.end()) == std::vector<double>(b.begin(), b.end()));
      CHECK(rank_loads(step, kShape, layer, 4, 1) == rank_loads(fresh, kShape, layer, 4, 1));
    }
  }
}

TEST_CASE("threads see what one thread sees") {
  const StepRouting step = drifting().prepare(0);
  std::vector<Rows> serial;
  for (std::int64_t mb = 0; mb < 400; ++mb) serial.push_back(rank_loads(step, kShape, mb % 3, mb, mb % 7));
  std::vector<Rows> parallel(400);
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t mb = 399 - t; mb >= 0; mb -= 4)
        parallel[static_cast<std::size_t>(mb)] = rank_loads(step, kShape, mb % 3, mb, mb % 7);
    });
  for (std::thread& t : threads) t.join();
  CHECK(parallel == serial);
}

TEST_CASE("a pinned draw: the same bits on every machine") {
  const StepRouting step = drifting().prepare(0);
  CHECK(rank_loads(step, kShape, 0, 0, 0) == Rows{4092, 3326, 3233, 5349});
  CHECK(rank_loads(step, kShape, 2, 1, 1) == Rows{3428, 3856, 4036, 4680});
  CHECK(expert_loads(step, kShape, 0, 0, 0) ==
        Rows{1736, 1504, 670, 769, 723, 643, 1554, 412, 775, 431, 1188, 1125, 1660, 242, 331, 2237});
}
