// The planner's cost of an order is what the executor takes for it, to the picosecond: every method, all pass
// directions, one rank alone and groups that meet in collectives.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>

#include "sim/exec/owners.h"
#include "sim/exec/pair_order.h"
#include "sim/exec/replica.h"
#include "sim/planner/overlap/overlap.h"
#include "tests/support/pairs.h"

using namespace tessella;
using tessella::testing::PairDice;

namespace {

// Every rank of every layer receives as much.
class BalancedLoads final : public LoadSource {
 public:
  void prepare(std::int64_t) override {}
  RoutedRows rank_loads(std::int64_t, std::int32_t, std::int32_t, std::int32_t,
                        std::span<std::int32_t> out) const override {
    for (std::int32_t& rows : out) rows = kRows;
    return {kRows * std::ssize(out), 0};
  }
  static constexpr std::int32_t kRows = 700;
};

class RandomStages {
 public:
  RandomStages(std::uint64_t seed, std::int32_t ranks) : dice_(seed), ranks_(ranks) {
    LoadCurve curve;
    curve.step = 256;
    for (std::int64_t k = 0, at = 50; k < 6; ++k) curve.knots.push_back({at += dice_.below(400)});
    curve_ = TokenCurve(curve);
  }

  std::vector<PieceOps> stage() {
    std::vector<PieceOps> pieces;
    if (dice_.below(3) == 0) pieces.push_back(edge(PieceKind::embedding, false));
    for (std::int64_t n = 1 + dice_.below(4); n > 0; --n) pieces.push_back(layer());
    if (dice_.below(3) == 0) pieces.push_back(edge(PieceKind::head, true));
    return pieces;
  }
  const TokenCurve& curve() const { return *curve_; }

 private:
  PieceOps::Item item(Role role, OpClass cls) {
    PieceOps::Item i{{}, role};
    i.op.cls = cls;
    if (cls != OpClass::compute) i.op.sync_width = ranks_;
    i.op.duration = {dice_.below(1000)};
    if (cls != OpClass::tp && role != Role::attention && dice_.below(2) == 0)
      i.op.work = cls == OpClass::ep ? WorkKind::hottest_load : WorkKind::rank_load;
    i.op.beside_waiting = Pace::slowed_by(1.0 + 0.01 * static_cast<double>(dice_.below(30)));
    i.op.beside_moving = Pace::slowed_by(1.0 + 0.01 * static_cast<double>(dice_.below(90)));
    if (cls == OpClass::ep) i.op.beside_compute = Pace::slowed_by(1.3);
    return i;
  }
  PieceOps layer() {
    PieceOps p;
    const bool moe = dice_.below(4) != 0;
    const bool tp = dice_.below(2) == 0;
    if (tp) p.forward.push_back(item(Role::attention, OpClass::tp));
    p.forward.push_back(item(Role::attention, OpClass::compute));
    if (moe) p.forward.push_back(item(Role::dispatch, OpClass::ep));
    p.forward.push_back(item(Role::experts, OpClass::compute));
    if (moe) p.forward.push_back(item(Role::combine, OpClass::ep));
    if (moe) p.forward.push_back(item(Role::combine, OpClass::compute));
    if (moe) p.backward.push_back(item(Role::combine, OpClass::ep));
    p.backward.push_back(item(Role::experts, OpClass::compute));
    if (moe) p.backward.push_back(item(Role::dispatch, OpClass::ep));
    p.backward.push_back(item(Role::attention, OpClass::compute));
    if (tp) p.backward.push_back(item(Role::attention, OpClass::tp));
    p.wgrad = {item(Role::wgrad_experts, OpClass::compute), item(Role::wgrad_attention, OpClass::compute)};
    return p;
  }
  PieceOps edge(PieceKind kind, bool wgrad) {
    PieceOps p;
    p.kind = kind;
    p.forward = {item(Role::attention, OpClass::compute)};
    p.backward = {item(Role::attention, OpClass::compute)};
    if (wgrad) p.wgrad = {item(Role::wgrad_attention, OpClass::compute)};
    return p;
  }

  PairDice dice_;
  std::int32_t ranks_;
  std::optional<TokenCurve> curve_;
};

Duration work_of(const Op& op, const TokenCurve& curve) {
  return op.work == WorkKind::fixed ? op.duration : curve.at(BalancedLoads::kRows);
}

Template chain_of(const PairTasks& pair, int half) {
  Template t;
  for (std::size_t i = 0; i < pair.tasks.size(); ++i)
    if (pair.tasks[i].id.half == half) t.ops.insert(t.ops.end(), pair.ops[i].begin(), pair.ops[i].end());
  return t;
}

Schedule schedule_with(const Slot& slot) {
  // What must run before the pair, the pair, and the rest; all on one rank that holds both stages.
  Schedule s;
  s.num_ranks = 1;
  s.num_stages = 2;
  s.num_micro_batches = 2;
  s.stage_ranks = {{PpRank{0}}, {PpRank{0}}};
  s.ranks.resize(1);
  std::set<Action> paired{slot.first, *slot.second};
  bool ran = false;
  for (const ActionKind kind : {ActionKind::F, ActionKind::B})
    for (std::int32_t m = 0; m < 2; ++m)
      for (std::int32_t i = 0; i < 2; ++i) {
        const Action a{Stage{kind == ActionKind::F ? i : 1 - i}, kind, MicroBatch{m}};
        if (!paired.contains(a))
          s.ranks[0].push_back({a, std::nullopt});
        else if (!std::exchange(ran, true))
          s.ranks[0].push_back(slot);
      }
  return s;
}

// The executor's time of the pair: the makespan of a step less what runs alone.
Duration executed(const PairTasks& pair, const PairPlan& plan, const Slot& slot, const TokenCurve& curve,
                  std::int32_t ranks) {
  Program program;
  program.schedule = schedule_with(slot);
  program.group_size = program.ep_block = ranks;
  program.curves = {curve};
  program.op_names = {"op"};
  program.owner = owners(program.schedule);
  program.positions = bare_positions(program.schedule);
  // Stage s runs as half s of the pair does, in either pass; the pass that is not paired costs nothing.
  for (std::int32_t s = 0; s < 2; ++s) {
    program.stage_templates.push_back({4 * s, 4 * s + 1, 4 * s + 2, 4 * s + 3});
    for (int kind = 0; kind < 4; ++kind) program.templates.emplace_back();
  }
  for (int half = 0; half < 2; ++half) {
    const Action& a = half == 0 ? slot.first : *slot.second;
    program.templates[static_cast<std::size_t>(4 * a.stage.value + static_cast<int>(a.kind))] = chain_of(pair, half);
  }
  const auto index = [&](const Action& a) { return 4 * a.stage.value + static_cast<std::int32_t>(a.kind); };
  program.pair_templates[{index(slot.first), index(*slot.second)}] =
      static_cast<std::int32_t>(program.templates.size());
  program.templates.push_back(lower_pair(pair, plan));

  const BalancedLoads loads;
  Replica replica(program, &loads);
  replica.run(0, 0, 1, nullptr, {});
  Duration alone; // each paired action runs once more, with the other micro-batch
  for (const std::vector<Op>& ops : pair.ops)
    for (const Op& op : ops) alone += work_of(op, curve);
  for (const Time t : replica.groups()[0].clock) REQUIRE(t == replica.groups()[0].clock[0]);
  return replica.groups()[0].clock[0] - Time{} - alone;
}

PairProblem balanced_problem(PairTasks pair, const TokenCurve& curve) {
  for (std::vector<Op>& ops : pair.ops)
    for (Op& op : ops) {
      op.duration = work_of(op, curve);
      op.work = WorkKind::fixed;
    }
  return pair_problem(pair);
}

} // namespace

TEST_CASE("Predicted and executed cost of a pair agree to the picosecond") {
  const Action f0{Stage{0}, ActionKind::F, MicroBatch{1}};
  const Action f1{Stage{1}, ActionKind::F, MicroBatch{0}};
  const Action b0{Stage{0}, ActionKind::B, MicroBatch{0}};
  const Action b1{Stage{1}, ActionKind::B, MicroBatch{1}};
  // Passes: (F, B) of two stages, (F, F), (B, B).
  const std::vector<Slot> slots = {
      {{Stage{0}, ActionKind::F, MicroBatch{1}}, Action{Stage{1}, ActionKind::B, MicroBatch{0}}}, {f0, f1}, {b1, b0}};
  Duration hidden;
  for (std::uint64_t seed = 0; seed < 60; ++seed)
    for (const std::int32_t ranks : {1, 4})
      for (const Slot& slot : slots) {
        CAPTURE(seed);
        CAPTURE(ranks);
        RandomStages random(seed, ranks);
        const std::vector<PieceOps> first = random.stage();
        const std::vector<PieceOps> second = random.stage();
        const PairPasses passes{slot.first.kind, slot.second->kind};
        const PairTasks pair = pair_tasks(first, second, passes, seed % 3 != 0);
        const PairProblem problem = balanced_problem(pair, random.curve());
        for (const OverlapMethod method : kOverlapMethods) {
          if (!applies(method, passes)) continue;
          CAPTURE(std::string(name(method)));
          const PairResult r = schedule_pair(problem, method, {20'000, std::nullopt});
          REQUIRE(executed(pair, r.plan, slot, random.curve(), ranks).ps == r.post_overlap.ps);
          hidden += r.ep_hidden;
        }
      }
  CHECK(hidden > Duration{}); // contention was exercised
}
