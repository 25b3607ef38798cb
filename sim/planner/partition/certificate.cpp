#include "sim/planner/partition/certificate.h"

#include <algorithm>
#include <array>

#include "sim/cost/params.h"
#include "sim/cost/step_costs.h"
#include "sim/exec/positions.h"
#include "sim/planner/partition/partition_dp.h"
#include "sim/planner/partition/weighted_bound.h"
#include "sim/planner/simulate.h"

namespace tessella {
namespace {

enum class Lane { compute, exchange };

// Slots of one stage that run an action alone or in a pair, by kind.
struct SlotCounts {
  std::array<std::int64_t, 4> alone{};
  std::array<std::int64_t, 4> paired{};
};

// A schedule as the bounds see it.
struct Shape {
  std::vector<SlotCounts> counts;   // [stage], over all ranks
  std::vector<std::int32_t> lowest; // [rank] lowest stage it holds
  bool one_stage_per_rank = true;   // stage s on rank s and nowhere else
  bool any_pairs = false;           // without, both lanes are charged alike
  bool backward_whole = true;       // B in one piece and alone: gradients leave after the weight gradient
  std::int32_t hops = 0;            // stage boundaries between different ranks
};

Shape shape_of(const Schedule& s) {
  Shape shape;
  shape.counts.resize(static_cast<std::size_t>(s.num_stages));
  for (const auto& slots : s.ranks)
    for (const Slot& slot : slots) {
      const auto note = [&](const Action& a) {
        if (s.is_shadow(a.micro_batch)) return;
        SlotCounts& c = shape.counts[static_cast<std::size_t>(a.stage.value)];
        ++(slot.second ? c.paired : c.alone)[static_cast<std::size_t>(a.kind)];
        shape.any_pairs |= slot.second.has_value();
        if (slot.second || a.kind == ActionKind::I) shape.backward_whole = false;
      };
      note(slot.first);
      if (slot.second) note(*slot.second);
    }
  shape.lowest.assign(static_cast<std::size_t>(s.num_ranks), s.num_stages);
  for (std::int32_t stage = 0; stage < s.num_stages; ++stage) {
    const auto& ranks = s.stage_ranks[static_cast<std::size_t>(stage)];
    for (const PpRank r : ranks) {
      auto& low = shape.lowest[static_cast<std::size_t>(r.value)];
      low = std::min(low, stage);
    }
    if (ranks.size() != 1 || ranks[0].value != stage) shape.one_stage_per_rank = false;
    if (stage > 0 && s.stage_ranks[static_cast<std::size_t>(stage - 1)] != ranks) ++shape.hops;
  }
  return shape;
}

// What the slots of a stage charge to one lane if the stage holds this piece.
Duration charge(const PieceTimes& piece, const SlotCounts& n, Lane lane) {
  Duration sum;
  const std::array<PassTimes, 4> pass = {piece.forward, piece.backward(), piece.input_grad, piece.weight_grad};
  for (std::size_t kind = 0; kind < 4; ++kind) {
    sum += pass[kind].serial() * n.alone[kind];
    sum += (lane == Lane::compute ? pass[kind].compute_lane() : pass[kind].exchange) * n.paired[kind];
  }
  return sum;
}

Duration round_trip(const PieceTimes& piece, const Shape& shape) {
  return piece.forward.serial() + (shape.backward_whole ? piece.backward() : piece.input_grad).serial();
}

PieceTimes fixed_tail(const Model& model, const LayerTable& table) {
  PieceTimes sum = table.head();
  for (std::int64_t i = 0; i < model.mtp_num_layers; ++i) sum += table.mtp();
  return sum;
}

// Charges and round trips of the layers before each boundary. Both are sums over layers, so a stage of any length is
// the difference of two of them.
struct UptoSums {
  std::vector<std::vector<Duration>> charge; // [stage][boundary]
  std::vector<Duration> trip;                // [boundary]
};

UptoSums upto_sums(const Shape& shape, const LayerTable& table, Lane lane) {
  UptoSums sums{std::vector<std::vector<Duration>>(shape.counts.size()), {Duration{}}};
  for (std::vector<Duration>& stage : sums.charge) stage.assign(1, Duration{});
  for (std::int32_t l = 0; l < table.num_layers(); ++l) {
    const PieceTimes layer = table.layer(l);
    for (std::size_t s = 0; s < shape.counts.size(); ++s)
      sums.charge[s].push_back(sums.charge[s].back() + charge(layer, shape.counts[s], lane));
    sums.trip.push_back(sums.trip.back() + round_trip(layer, shape));
  }
  return sums;
}

Duration exact_work(const Model& model, const Shape& shape, const LayerTable& table, Duration flight, Lane lane) {
  const auto stages = static_cast<std::int32_t>(shape.counts.size());
  const UptoSums upto = upto_sums(shape, table, lane);
  const Duration first_extra = charge(table.embedding(), shape.counts.front(), lane);
  const Duration last_extra = charge(fixed_tail(model, table), shape.counts.back(), lane);
  const Duration embedding_trip = round_trip(table.embedding(), shape);
  const auto cost = [&](std::int32_t s, std::int32_t first, std::int32_t end) -> std::optional<Duration> {
    const std::vector<Duration>& charged = upto.charge[static_cast<std::size_t>(s)];
    Duration sum = charged[static_cast<std::size_t>(end)] - charged[static_cast<std::size_t>(first)];
    sum += upto.trip[static_cast<std::size_t>(first)] + flight * (2 * s);
    sum += s == 0 ? first_extra : embedding_trip;
    if (s + 1 == stages) sum += last_extra;
    return sum;
  };
  return min_max_intervals(table.num_layers(), stages, cost, true)->bottleneck;
}

Duration mean_work(const Model& model, const Shape& shape, const LayerTable& table, Duration flight, Lane lane) {
  const auto ranks = static_cast<std::int64_t>(shape.lowest.size());
  Duration sum = charge(table.embedding(), shape.counts.front(), lane) +
                 charge(fixed_tail(model, table), shape.counts.back(), lane);
  for (std::int32_t l = 0; l < table.num_layers(); ++l) {
    Duration least = Duration::max();
    for (const SlotCounts& n : shape.counts) least = min(least, charge(table.layer(l), n, lane));
    sum += least;
  }
  // Heads and tails: the stages below may hold no layer, but the first holds the embedding.
  for (const std::int32_t low : shape.lowest)
    if (low > 0) sum += round_trip(table.embedding(), shape) + flight * (2 * low);
  return {sum.ps / ranks};
}

// What covering `exchange` with the least slowed kernels of m micro-batches adds to the compute lane; exchange that no
// kernel is left to cover runs beside an idle lane.
double covering_cost(const LayerTable& table, std::int64_t micro_batches, double exchange) {
  double added = 0.0;
  for (const SlowedWork& w : table.slowed_work()) {
    const double covers = static_cast<double>(w.work.ps) * w.factor * static_cast<double>(micro_batches);
    const double used = std::min(exchange, covers);
    added += used * (1.0 - 1.0 / w.factor);
    exchange -= used;
  }
  return added + exchange;
}

Duration contended_work(const Model& model, const Schedule& schedule, const Shape& shape, const LayerTable& table,
                        Duration flight) {
  double exchange = 0.0;
  for (std::int32_t l = 0; l < table.num_layers(); ++l) {
    const PieceTimes layer = table.layer(l);
    Duration least = Duration::max();
    for (SlotCounts n : shape.counts) {
      n.alone = {};
      least = min(least, charge(layer, n, Lane::exchange));
    }
    exchange += static_cast<double>(least.ps);
  }
  const double added = covering_cost(table, schedule.num_micro_batches, exchange);
  const auto ranks = static_cast<double>(shape.lowest.size());
  return mean_work(model, shape, table, flight, Lane::compute) + Duration{static_cast<std::int64_t>(added / ranks)};
}

// All parameters of the model at once: no part of them is gathered faster per byte.
Duration whole_gather(const Scenario& s) {
  const StageContent whole{0, static_cast<std::int32_t>(s.model.num_layers()),
                           static_cast<std::int32_t>(s.model.mtp_num_layers), true, true};
  constexpr std::int32_t kOnly[] = {0};
  const RankParams params = rank_params(s.model, Partition{{whole}}, kOnly, s.parallelism);
  return param_gather(s, params.dense, params.expert).duration;
}

} // namespace

Duration p2p_flight(const ModelOps& ops) {
  return ops.p2p_latency + ops.p2p_message / ops.p2p_bandwidth;
}

StepTail step_tail(const Scenario& scenario, const Schedule& schedule) {
  Program program = bare_program(scenario, schedule);
  cost_positions(scenario, program);
  StepTail tail{program.norm_sync, {}, {}};
  for (const Position& p : program.positions) tail.optimizer += p.optimizer;
  const auto ranks = static_cast<std::int64_t>(program.positions.size());
  tail.optimizer.ps /= ranks;
  if (!program.overlap_param_gather) tail.gather.ps = whole_gather(scenario).ps / ranks;
  return tail;
}

PlanCertificate certify(const Model& model, const Schedule& schedule, const LayerTable& table, Duration flight,
                        const StepTail& tail) {
  const Shape shape = shape_of(schedule);
  const auto work = [&](Lane lane) {
    return shape.one_stage_per_rank ? exact_work(model, shape, table, flight, lane)
                                    : mean_work(model, shape, table, flight, lane);
  };
  PieceTimes whole = table.layers(0, table.num_layers());
  whole += table.embedding();
  whole += fixed_tail(model, table);
  const Duration rest = tail.total();
  const Duration compute = work(Lane::compute);
  PlanCertificate c;
  c.bounds = {
      {"work on the compute lane", compute + rest},
      {"work on the exchange lane", (shape.any_pairs ? work(Lane::exchange) : compute) + rest},
      {"work with contention", contended_work(model, schedule, shape, table, flight) + rest},
      {"chain of one micro-batch", round_trip(whole, shape) + flight * (2 * shape.hops) + rest},
      {"last stage", charge(fixed_tail(model, table), shape.counts.back(), Lane::compute) + rest},
  };
  for (const PlanBound& b : c.bounds)
    if (c.limited_by.empty() || b.value > c.lower_bound) {
      c.lower_bound = b.value;
      c.limited_by = b.name;
    }
  return c;
}

PlanCertificate certify(const Scenario& scenario, const Schedule& schedule, const ModelOps& ops,
                        const LayerTable& table) {
  const Duration flight = p2p_flight(ops);
  const StepTail tail = step_tail(scenario, schedule);
  PlanCertificate c = certify(scenario.model, schedule, table, flight, tail);
  const Duration pipeline = weighted_bound(scenario, schedule, ops, flight);
  c.bounds.push_back({"weighted windows of all ranks", pipeline + tail.total()});
  if (pipeline.ps == 0 || c.bounds.back().value <= c.lower_bound) return c;
  c.lower_bound = c.bounds.back().value;
  c.limited_by = c.bounds.back().name;
  return c;
}

PlanCertificate certify(const Scenario& scenario) {
  const ModelOps ops = make_model_ops(scenario);
  return certify(scenario, schedule_of(scenario), ops, LayerTable(scenario, ops));
}

} // namespace tessella
