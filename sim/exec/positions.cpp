#include "sim/exec/positions.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "sim/cost/collective.h"
#include "sim/cost/params.h"
#include "sim/cost/step_costs.h"
#include "sim/domain/workload_shape.h"
#include "sim/exec/owners.h"
#include "sim/topology/groups.h"

namespace tessella {

Program bare_program(const Scenario& scenario, const Schedule& schedule) {
  const Parallelism& p = scenario.parallelism;
  Program program;
  program.schedule = schedule;
  program.owner = owners(schedule);
  program.group_size = static_cast<std::int32_t>(p.group_size());
  program.replicas = static_cast<std::int32_t>(p.replicas());
  program.ep_block = static_cast<std::int32_t>(p.ep * p.etp);
  program.etp = static_cast<std::int32_t>(p.etp);
  program.dense_stride = static_cast<std::int32_t>(p.tp);
  program.overlap_grad_reduce = scenario.optimizer.overlap_grad_reduce;
  program.overlap_param_gather = scenario.optimizer.overlap_param_gather;
  program.kernel_jitter = scenario.jitter.kernel;
  program.fabric_jitter = scenario.jitter.fabric;
  program.positions = bare_positions(schedule);
  return program;
}

namespace {

// One pass of a stage at balanced load with nothing beside it.
Duration pass_time(const Program& program, std::int32_t stage, ActionKind kind) {
  Duration sum;
  if (program.stage_templates.empty()) return sum; // only the tail of a step is asked for
  const std::int32_t t = program.stage_templates[static_cast<std::size_t>(stage)][static_cast<std::size_t>(kind)];
  for (const Op& op : program.templates[static_cast<std::size_t>(t)].ops) sum += op.duration;
  return sum;
}

// Weight gradients end with B, or with W in schedules that split it.
ActionKind gradient_pass(const Schedule& schedule, std::int32_t stage) {
  for (const auto& slots : schedule.ranks)
    for (const Slot& slot : slots)
      for (const Action* a : {&slot.first, slot.second ? &*slot.second : nullptr})
        if (a && a->stage.value == stage && a->kind == ActionKind::W) return ActionKind::W;
  return ActionKind::B;
}

// The last of n buckets is ready when the pass ends, the first an n-th of the pass after it began; so a reduction ends
// an n-th of itself after the pass, or its own length after the first bucket. A gather is its mirror image.
Duration lead(Duration collective, Duration pass, std::int64_t buckets) {
  const Duration hidden = min(collective, pass);
  return hidden - Duration{hidden.ps / buckets};
}

} // namespace

void cost_positions(const Scenario& scenario, Program& program) {
  const Parallelism& p = scenario.parallelism;
  const std::int64_t replicas = placed_replicas(scenario);
  const std::int64_t experts = replicas == 0 ? 1 : workload_shape(scenario.model, p, scenario.batch).experts_per_rank();
  for (Position& position : program.positions) {
    for (std::size_t c = 0; c < position.chunks.size(); ++c) {
      const RankParams params =
          with_replicas(rank_params(scenario.model, scenario.partition, std::span(position.stages).subspan(c, 1), p),
                        replicas, experts);
      // Replicas send their gradients home and get their weights from there, as the experts beside them do.
      const std::int64_t synced = params.expert + params.replica;
      position.chunks[c].dense_reduce = grad_reduce(scenario, params.dense, 0).duration;
      position.chunks[c].expert_reduce = grad_reduce(scenario, 0, synced).duration;
      position.chunks[c].param_gather = param_gather(scenario, params.dense, synced).duration;
      const std::int64_t buckets = overlap_buckets(scenario, params.dense, synced);
      const std::int32_t stage = position.stages[c];
      position.chunks[c].reduce_lead = lead(position.chunks[c].dense_reduce + position.chunks[c].expert_reduce,
                                            pass_time(program, stage, gradient_pass(program.schedule, stage)), buckets);
      position.chunks[c].gather_lead =
          lead(position.chunks[c].param_gather, pass_time(program, stage, ActionKind::F), buckets);
    }
    const RankParams all = rank_params(scenario.model, scenario.partition, position.stages, p);
    position.optimizer = optimizer_step(scenario, all.dense, all.expert).duration;
    if (scenario.optimizer.offload) { // out after the update; in before, unless that is spare work
      const bool fetched_early = scenario.bubble_filler.moves(Movable::optimizer_prefetch);
      position.optimizer += state_transfer(scenario, all.dense, all.expert).duration * (fetched_early ? 1 : 2);
    }
  }
  program.tied_embedding_reduce = embedding_grad_reduce(scenario).duration;
  if (p.world_size == 1) return;
  // One number per rank: the latency of an all-reduce over the job.
  const CollectiveModel collectives(scenario.cluster, scenario.profile);
  program.norm_sync = collectives.time(Collective::all_reduce, span_of_first(scenario.cluster, p.world_size), Bytes{4});
}

namespace {

// Pieces long enough that a launch does not matter beside them.
constexpr Duration kPiece{50'000'000};

SpareWork in_pieces(const OpDetail& whole, Program& program) {
  SpareWork w;
  w.pieces = std::max<std::int64_t>(1, whole.duration.ps / kPiece.ps);
  w.piece = {(whole.duration.ps + w.pieces - 1) / w.pieces};
  w.provenance = whole.provenance;
  const auto name = std::find(program.op_names.begin(), program.op_names.end(), whole.name);
  w.name = static_cast<std::int32_t>(name - program.op_names.begin());
  if (name == program.op_names.end()) program.op_names.push_back(whole.name);
  return w;
}

} // namespace

void add_spare_work(const Scenario& scenario, const Contention& streaming, Program& program) {
  const BubbleFillerSpec& filler = scenario.bubble_filler;
  for (Position& position : program.positions) {
    const RankParams all = rank_params(scenario.model, scenario.partition, position.stages, scenario.parallelism);
    if (filler.moves(Movable::checkpoint_hash)) {
      SpareWork hash = in_pieces(checkpoint_hash(scenario, all.dense, all.expert), program);
      hash.beside_waiting = Pace::slowed_by(streaming.waiting);
      hash.beside_moving = Pace::slowed_by(streaming.moving);
      position.spare.push_back(hash);
    }
    if (filler.moves(Movable::optimizer_prefetch)) {
      const OpDetail whole = state_transfer(scenario, all.dense, all.expert);
      SpareWork fetch = in_pieces(whole, program);
      fetch.copies = true;
      fetch.bytes = static_cast<std::int64_t>(std::ceil(whole.bytes / static_cast<double>(fetch.pieces)));
      position.spare.push_back(fetch);
    }
  }
}

} // namespace tessella
