// What the bubble filler may move, from an experiment to a step: each kind at its own price, at its own place when no
// policy moves it.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/cost/params.h"
#include "sim/cost/step_costs.h"
#include "sim/exec/lower.h"
#include "sim/exec/run.h"
#include "sim/schedule/table.h"
#include "tests/support/even_loads.h"
#include "tests/support/small_moe.h"

using namespace tessella;

namespace {

Scenario moving(std::vector<std::string> overrides) {
  overrides.emplace_back("bubble_filler.policy=greedy");
  Scenario s = testing::small_moe(overrides);
  s.profile.entries.push_back(
      {"host_link", "", "", "stream", {{"launch", 0.0}, {"bandwidth", 5e10}}, Provenance::assumed, "a test", {}});
  return s;
}

Program lowered(const Scenario& s) {
  return lower(s, make_schedule(s.schedule, 2, 1, static_cast<std::int32_t>(s.num_micro_batches())), make_model_ops(s));
}

RunRecords run(const Program& program, const char* policy) {
  EvenLoads loads(4096);
  RunOptions o;
  o.filler.policy = find_fill_policy(policy);
  return run_program(program, &loads, true, o);
}

Duration step(const Program& program, const char* policy) {
  return run(program, policy).steps[0].makespan;
}

} // namespace

TEST_CASE("A checkpoint hash costs the slowest rank its bytes at the end of the step") {
  const Scenario s = moving({"bubble_filler.movable=[wgrad, checkpoint_hash]"});
  const Program with = lowered(s);
  Duration longest;
  for (const Position& p : with.positions) {
    REQUIRE(p.spare.size() == 1);
    const RankParams held = rank_params(s.model, s.partition, p.stages, s.parallelism);
    const Duration hash = checkpoint_hash(s, held.dense, held.expert).duration;
    const Duration spare = p.spare[0].piece * p.spare[0].pieces;
    CHECK((spare >= hash && spare < hash + Duration{p.spare[0].pieces}));
    CHECK_FALSE(p.spare[0].copies);
    longest = max(longest, spare + p.optimizer);
  }
  const Program without = lowered(moving({}));
  const Duration cost = step(with, "none") - step(without, "none");
  CHECK((cost > Duration{0} && cost <= longest));
  CHECK(run(with, "greedy").sums.fill.early > Duration{0});
}

TEST_CASE("Offloaded state comes in before the optimizer and out after, or ahead of it and out after") {
  const Scenario s = moving({"optimizer.offload=true", "bubble_filler.movable=[wgrad, optimizer_prefetch]"});
  const Program ahead = lowered(s);
  const Program twice = lowered(moving({"optimizer.offload=true"}));
  const Program here = lowered(moving({}));
  for (std::size_t p = 0; p < here.positions.size(); ++p) {
    const RankParams held = rank_params(s.model, s.partition, here.positions[p].stages, s.parallelism);
    const OpDetail transfer = state_transfer(s, held.dense, held.expert);
    CHECK(twice.positions[p].optimizer - here.positions[p].optimizer == transfer.duration * 2);
    CHECK(ahead.positions[p].optimizer - here.positions[p].optimizer == transfer.duration);
    REQUIRE(ahead.positions[p].spare.size() == 1);
    const SpareWork& w = ahead.positions[p].spare[0];
    CHECK(w.copies);
    CHECK(static_cast<double>(w.bytes * w.pieces) >= transfer.bytes);
  }
  CHECK(step(ahead, "greedy") < step(ahead, "none"));
}

TEST_CASE("Recomputation ahead: what the backward ops recompute, and the activations that it spares") {
  const Program program = lowered(moving({"recompute={granularity: selective, modules: [moe_act, layernorm]}",
                                          "bubble_filler.movable=[wgrad, recompute]"}));
  REQUIRE(program.ahead.size() == 2);
  for (std::size_t stage = 0; stage < program.ahead.size(); ++stage) {
    const auto& backward = program.templates[static_cast<std::size_t>(program.stage_templates[stage][1])];
    std::int32_t last = 0;
    for (const Op& op : backward.ops)
      if (op.ahead > 0) {
        CHECK(op.ahead == ++last); // in the order of the backward
        const AheadWork& w = program.ahead[stage][static_cast<std::size_t>(op.ahead - 1)];
        CHECK((w.duration > Duration{0} && w.duration <= op.duration));
        CHECK(w.bytes > 0);
      }
    CHECK(static_cast<std::size_t>(last) == program.ahead[stage].size());
    CHECK(last > 0);
  }
  CHECK(run(program, "greedy").sums.fill.early > Duration{0});
  CHECK(lowered(moving({})).ahead.empty());
}
