#include <doctest/doctest.h>

#include "sim/cost/memory.h"
#include "tests/support/interleaved.h"
#include "tests/support/model_yaml.h"

using namespace tessella;

namespace {

Action act(std::int32_t stage, ActionKind kind, std::int32_t micro_batch) {
  return {Stage{stage}, kind, MicroBatch{micro_batch}};
}

Slot one(std::int32_t stage, ActionKind kind, std::int32_t micro_batch) {
  return {act(stage, kind, micro_batch), {}};
}

using K = ActionKind;

Scenario toy(const Parallelism& p, std::int64_t micro_batches) {
  Scenario s;
  s.model = test::public_model("toy");
  s.parallelism = p;
  s.batch = {1, micro_batches * p.dp(), 1024};
  s.cluster.node.gpus = 8;
  s.profile.gpu.memory = Bytes{1LL << 33};
  for (std::int32_t i = 0; i < p.pp; ++i) {
    const auto layers = static_cast<std::int32_t>(4 / p.pp);
    s.partition.stages.push_back({i * layers, layers, 0, i == 0, i == p.pp - 1});
  }
  return s;
}

std::optional<RunPlan> replan(const Scenario& s) {
  const std::int64_t dp = s.parallelism.dp();
  if (4 % s.parallelism.pp != 0 || s.batch.global_batch_size % dp != 0 || 8 % s.parallelism.ep != 0)
    return std::nullopt;
  const std::int64_t m = s.batch.global_batch_size / dp;
  return RunPlan{toy(s.parallelism, m).partition, test::interleaved_1f1b(s.parallelism.pp, 1, m, 1)};
}

MemoryReport report_of(const Scenario& s) {
  return memory_report(s, test::interleaved_1f1b(s.parallelism.pp, 1, s.num_micro_batches(), 1));
}

} // namespace

TEST_CASE("the walk: F adds, B and W free, I frees only the logits") {
  const std::vector<StageActivation> stages = {{10.0, 0.0}, {3.0, 5.0}};
  CHECK(peak_live(std::vector<Slot>{one(0, K::F, 0), one(0, K::B, 0), one(0, K::F, 1)}, stages) == LivePeak{10.0, 1});
  CHECK(peak_live(std::vector<Slot>{one(0, K::F, 0), one(0, K::I, 0), one(0, K::F, 1)}, stages) == LivePeak{20.0, 2});
  CHECK(peak_live(std::vector<Slot>{one(0, K::F, 0), one(0, K::I, 0), one(0, K::W, 0), one(0, K::F, 1)}, stages) ==
        LivePeak{10.0, 1});
  CHECK(peak_live(std::vector<Slot>{one(1, K::F, 0), one(1, K::I, 0), one(1, K::F, 1)}, stages) == LivePeak{11.0, 2});
  CHECK(peak_live(std::vector<Slot>{}, stages) == LivePeak{0.0, 0});
}

TEST_CASE("both actions of a pair are live together") {
  const std::vector<StageActivation> stages = {{10.0, 0.0}};
  const Slot pair{act(0, K::F, 1), act(0, K::B, 0)};
  CHECK(peak_live(std::vector<Slot>{one(0, K::F, 0), pair, one(0, K::B, 1)}, stages) == LivePeak{20.0, 2});
  const Slot turned{act(0, K::B, 0), act(0, K::F, 1)};
  CHECK(peak_live(std::vector<Slot>{one(0, K::F, 0), turned, one(0, K::B, 1)}, stages) == LivePeak{20.0, 2});
  CHECK(peak_live(std::vector<Slot>{one(0, K::F, 0), one(0, K::B, 0), one(0, K::F, 1)}, stages) == LivePeak{10.0, 1});
}

TEST_CASE("1F1B holds p - r micro-batches, GPipe all of them") {
  const std::vector<StageActivation> stages(4, StageActivation{1.0, 0.0});
  const Schedule s = test::interleaved_1f1b(4, 1, 12, 1);
  for (std::size_t r = 0; r < 4; ++r)
    CHECK(peak_live(s.ranks[r], stages) == LivePeak{4.0 - static_cast<double>(r), static_cast<std::int64_t>(4 - r)});
  std::vector<Slot> gpipe;
  for (std::int32_t m = 0; m < 12; ++m) gpipe.push_back(one(0, K::F, m));
  for (std::int32_t m = 0; m < 12; ++m) gpipe.push_back(one(0, K::B, m));
  CHECK(peak_live(gpipe, stages).chunks == 12);
}

TEST_CASE("uneven stages are charged as they are, not on average") {
  // Rank 0 of PP2 VPP2 holds stages 0 and 2; the big one is forwarded last and freed first.
  const std::vector<StageActivation> stages = {{1.0, 0.0}, {1.0, 0.0}, {100.0, 0.0}, {1.0, 0.0}};
  const Schedule s = test::interleaved_1f1b(2, 2, 4, 2);
  const LivePeak peak = peak_live(s.ranks[0], stages);
  CHECK(peak.chunks == 5);                  // 2 (p - 1) + (v - 1) N + 1
  CHECK(peak.bytes == 3 * 1.0 + 2 * 100.0); // F: 0 0 2 2 0, then the first backward
}

TEST_CASE("model state: 18 bytes unsharded, 6 + 12 / D distributed, experts over their own D") {
  const Parallelism p{64, 2, 2, 2, 1, 16, 1, true}; // DP 8, CP 2; EDP 2
  REQUIRE(p.dp() == 8);
  REQUIRE(p.edp() == 2);
  const RankParams params{1000, 600, 200};
  Optimizer optimizer;
  RankMemory m = model_state(params, p, optimizer, Precision::bf16);
  CHECK(m.weights.count == 2 * 1600);
  CHECK(m.gradients.count == 4 * 1600);
  CHECK(m.optimizer.count == 12 * 1000 / 16 + 12 * 600 / 2);
  CHECK(model_state(params, p, optimizer, Precision::fp8).weights.count == 2 * 1600 + 2 * 1400);
  optimizer.distributed = false;
  CHECK(model_state(params, p, optimizer, Precision::bf16).model_state().count == 18 * 1600);
}

TEST_CASE("a report names the fullest rank and states what it assumed") {
  const Scenario s = toy(Parallelism{8, 1, 1, 2, 1, 4, 1, true}, 8);
  const MemoryReport report = report_of(s);
  REQUIRE(report.ranks.size() == 2);
  CHECK(report.peak_rank == 1); // the logits of 32,000 words outweigh one more micro-batch of this toy
  CHECK(report.ranks[0].in_flight_chunks == 2.0);
  CHECK(report.ranks[1].in_flight_chunks == 1.0);
  CHECK(report.fits);
  CHECK_FALSE(report.smallest_world.has_value());
  CHECK(report.assumptions.size() == 5);
}

TEST_CASE("laws: recomputation and sharding never need more, imbalance never less") {
  const Parallelism p{16, 2, 1, 2, 1, 4, 1, true};
  const Scenario base = toy(p, 8);
  const Bytes reference = report_of(base).ranks[0].peak();
  for (RecomputeModule m :
       {RecomputeModule::core_attn, RecomputeModule::moe_act, RecomputeModule::layernorm, RecomputeModule::moe}) {
    Scenario s = base;
    s.recompute = {RecomputeGranularity::selective, {m}};
    CHECK(report_of(s).ranks[0].activations < report_of(base).ranks[0].activations);
  }
  Scenario wide = toy(Parallelism{32, 2, 1, 2, 1, 4, 1, true}, 8);
  CHECK(report_of(wide).ranks[0].optimizer < report_of(base).ranks[0].optimizer);
  CHECK(report_of(wide).ranks[0].activations == report_of(base).ranks[0].activations);
  MemoryAssumptions hot;
  hot.hot_load = 3.0;
  CHECK(memory_report(base, test::interleaved_1f1b(2, 1, 8, 1), hot).ranks[0].peak() > reference);
}

TEST_CASE("two directions hold two stages") {
  Scenario s = toy(Parallelism{2, 1, 1, 2, 1, 1, 1, true}, 2);
  Schedule schedule = test::interleaved_1f1b(2, 1, 2, 1);
  const Bytes single = memory_report(s, schedule).ranks[0].weights;
  schedule.stage_ranks = {{PpRank{0}, PpRank{1}}, {PpRank{1}, PpRank{0}}};
  CHECK(memory_report(s, schedule).ranks[0].weights.count > single.count * 3 / 2);
}

TEST_CASE("smallest world: more data parallelism first, then experts along with it, then the pipeline") {
  Scenario s = toy(Parallelism{1, 1, 1, 1, 1, 1, 1, true}, 8);
  const Schedule schedule = test::interleaved_1f1b(1, 1, 8, 1);
  const auto plan_below = [&](std::int64_t capacity) {
    s.profile.gpu.memory = Bytes{capacity};
    const MemoryReport report = check_memory(s, schedule, replan);
    CHECK_FALSE(report.fits);
    CHECK(report.smallest_world.has_value());
    return report.smallest_world_plan;
  };
  const auto peak_at = [&](const Parallelism& p) {
    Scenario grown = s;
    grown.parallelism = p;
    const RunPlan plan = *replan(grown);
    grown.partition = plan.partition;
    const MemoryReport report = memory_report(grown, plan.schedule);
    return report.ranks[static_cast<std::size_t>(report.peak_rank)].peak().count;
  };
  CHECK(plan_below(peak_at({1, 1, 1, 1, 1, 1, 1, true}) - 1) == "TP 1, PP 1, DP 2, EP 1");
  CHECK(plan_below(peak_at({2, 1, 1, 1, 1, 1, 1, true}) - 1) == "TP 1, PP 1, DP 2, EP 2");
  CHECK(plan_below(peak_at({2, 1, 1, 1, 1, 2, 1, true}) - 1) == "TP 1, PP 2, DP 1, EP 1");

  s.profile.gpu.memory = Bytes{1 << 20};
  CHECK_FALSE(check_memory(s, schedule, replan, {}, 8).smallest_world.has_value());
}
