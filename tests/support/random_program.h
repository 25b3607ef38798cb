// Random small programs with uneven loads, several sync widths, overlapped pairs and contention.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/rng.h"
#include "sim/exec/loads.h"
#include "sim/exec/owners.h"
#include "sim/exec/pair_order.h"
#include "sim/exec/program.h"
#include "sim/schedule/table.h"

namespace tessella::testing {

// Uneven, reproducible loads.
class HashedLoads final : public LoadSource {
 public:
  explicit HashedLoads(std::uint64_t seed) : seed_(seed) {}
  void prepare(std::int64_t) override {}
  RoutedRows rank_loads(std::int64_t step, std::int32_t layer, std::int32_t mb, std::int32_t ep_group,
                        std::span<std::int32_t> out) const override {
    const Stream s = Stream(seed_, Purpose::test, static_cast<std::uint64_t>(step))
                         .substream(static_cast<std::uint64_t>(layer * 1000 + mb))
                         .substream(static_cast<std::uint64_t>(ep_group));
    RoutedRows rows;
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<std::int32_t>(s.word(i) % 1000);
      rows.routed += out[i];
    }
    return rows;
  }

 private:
  std::uint64_t seed_;
};

// Draws small numbers one after another.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : stream_(seed, Purpose::test) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(stream_.word(next_++) % static_cast<std::uint64_t>(n));
  }
  bool coin() { return below(2) == 0; }

 private:
  Stream stream_;
  std::uint64_t next_ = 0;
};

class RandomProgram {
 public:
  // With `recomputes`, every second backward op recomputes in half of its time.
  explicit RandomProgram(std::uint64_t seed, bool recomputes = false) : dice_(seed), recomputes_(recomputes) {
    program.group_size = 1 << dice_.below(4);
    program.replicas = static_cast<std::int32_t>(1 + dice_.below(2));
    program.ep_block = 1 << dice_.below(1 + log2(program.group_size));
    program.etp = 1 << dice_.below(1 + log2(program.ep_block));
    tp_ = 1 << dice_.below(1 + log2(program.group_size));
    program.p2p_flight = {dice_.coin() ? 0 : dice_.below(500)};
    program.op_names = {"op"};
    for (int c = 0; c < 3; ++c) program.curves.push_back(random_curve());
    make_schedule_of_pairs();
    program.owner = owners(program.schedule);
    lower_stages();
    program.positions = bare_positions(program.schedule);
    number_fill_points(program);
  }
  Program program;

 private:
  static std::int64_t log2(std::int64_t n) { return n <= 1 ? 0 : 1 + log2(n / 2); }

  TokenCurve random_curve() {
    LoadCurve curve;
    curve.step = 256;
    std::int64_t at = dice_.below(50);
    for (int k = 0; k < 6; ++k) curve.knots.push_back({at += dice_.below(400)});
    return TokenCurve(curve);
  }

  void make_schedule_of_pairs() {
    ScheduleSpec spec;
    const auto pp = static_cast<std::int32_t>(1 + dice_.below(3));
    const auto m = static_cast<std::int32_t>(pp * (1 + dice_.below(3)));
    const bool interleave = pp > 1 && dice_.coin();
    spec.name = interleave ? "interleaved_1f1b" : "1f1b";
    spec.overlap_moe_expert_parallel_comm = interleave && dice_.coin();
    program.schedule = make_schedule(spec, pp, interleave ? 2 : 1, m);
  }

  PieceOps::Item item(Role role, OpClass cls) {
    PieceOps::Item i{{}, role};
    i.op.cls = cls;
    if (cls == OpClass::ep) i.op.sync_width = program.ep_block;
    if (cls == OpClass::tp || cls == OpClass::cp) i.op.sync_width = tp_;
    i.op.duration = {dice_.below(1000)};
    const bool by_load = role != Role::attention && role != Role::wgrad_attention && dice_.coin();
    if (by_load && cls != OpClass::tp && cls != OpClass::cp) {
      i.op.work = cls == OpClass::ep ? WorkKind::hottest_load : WorkKind::rank_load;
      i.op.curve = static_cast<std::int32_t>(dice_.below(3));
      i.op.moe_layer = static_cast<std::int32_t>(dice_.below(4));
    }
    i.op.beside_waiting = Pace::slowed_by(1.0 + 0.01 * static_cast<double>(dice_.below(30)));
    i.op.beside_moving = Pace::slowed_by(1.0 + 0.01 * static_cast<double>(dice_.below(90)));
    if (cls == OpClass::ep) i.op.beside_compute = Pace::slowed_by(1.3);
    return i;
  }

  PieceOps random_piece() {
    PieceOps p;
    const bool moe = dice_.below(4) != 0;
    const OpClass blocking = dice_.coin() ? OpClass::tp : OpClass::cp;
    if (dice_.coin()) p.forward.push_back(item(Role::attention, blocking));
    p.forward.push_back(item(Role::attention, OpClass::compute));
    if (moe) p.forward.push_back(item(Role::dispatch, OpClass::ep));
    p.forward.push_back(item(Role::experts, OpClass::compute));
    if (moe) p.forward.push_back(item(Role::combine, OpClass::ep));
    if (moe && dice_.coin()) p.forward.push_back(item(Role::combine, OpClass::compute));

    if (moe && dice_.coin()) p.backward.push_back(item(Role::combine, OpClass::compute));
    if (moe) p.backward.push_back(item(Role::combine, OpClass::ep));
    p.backward.push_back(item(Role::experts, OpClass::compute));
    if (moe) p.backward.push_back(item(Role::dispatch, OpClass::ep));
    p.backward.push_back(item(Role::attention, OpClass::compute));
    if (dice_.coin()) p.backward.push_back(item(Role::attention, blocking));
    p.wgrad.push_back(item(Role::wgrad_experts, OpClass::compute));
    p.wgrad.push_back(item(Role::wgrad_attention, OpClass::compute));
    for (PieceOps::Item& w : p.wgrad) w.op.weight = ++program.num_weights;
    return p;
  }

  // An exchange is a fill point, as in lowering.
  static void append(Template& t, const std::vector<PieceOps::Item>& items) {
    bool after_moe = false;
    for (const PieceOps::Item& i : items) {
      t.ops.push_back(i.op);
      if (i.op.cls == OpClass::ep) {
        t.ops.back().fill_point = 1;
        t.ops.back().after_moe = after_moe;
      }
      after_moe = i.role == Role::experts;
    }
  }

  void number_ahead(std::vector<PieceOps>& stage) {
    std::vector<AheadWork> ahead;
    for (auto p = stage.rbegin(); p != stage.rend(); ++p)
      for (PieceOps::Item& i : p->backward) {
        if (i.op.cls != OpClass::compute || i.op.work != WorkKind::fixed || i.op.duration.ps % 2 != 0) continue;
        ahead.push_back({{i.op.duration.ps / 2}, 7, 0, i.op.beside_waiting, i.op.beside_moving, i.op.provenance});
        i.op.ahead = static_cast<std::int32_t>(ahead.size());
      }
    program.ahead.push_back(ahead);
  }

  void lower_stages() {
    const auto stages = static_cast<std::size_t>(program.schedule.num_stages);
    std::vector<std::vector<PieceOps>> pieces(stages);
    for (auto& stage : pieces)
      for (std::int64_t n = 1 + dice_.below(3); n > 0; --n) stage.push_back(random_piece());
    if (recomputes_)
      for (auto& stage : pieces) number_ahead(stage);
    for (std::size_t s = 0; s < stages; ++s) {
      Template f, b, i, w;
      for (const PieceOps& p : pieces[s]) append(f, p.forward);
      for (auto p = pieces[s].rbegin(); p != pieces[s].rend(); ++p) {
        append(b, p->backward), append(b, p->wgrad);
        append(i, p->backward), append(w, p->wgrad);
      }
      const auto at = static_cast<std::int32_t>(program.templates.size());
      for (Template* t : {&f, &b, &i, &w}) program.templates.push_back(*t);
      program.stage_templates.push_back({at, at + 1, at + 2, at + 3});
    }
    const bool delay = dice_.coin();
    for (std::size_t f = 0; f < stages; ++f)
      for (std::size_t b = 0; b < stages; ++b) {
        program.pair_templates[{program.stage_templates[f][0], program.stage_templates[b][1]}] =
            static_cast<std::int32_t>(program.templates.size());
        const PairTasks pair = pair_tasks(pieces[f], pieces[b], {ActionKind::F, ActionKind::B}, delay);
        program.templates.push_back(lower_pair(pair, megatron_order(pair.tasks, pair.passes)));
      }
  }

  Dice dice_;
  std::int32_t tp_ = 1;
  bool recomputes_;
};

} // namespace tessella::testing
