#include "sim/exec/positions.h"

#include <span>

#include "sim/cost/collective.h"
#include "sim/cost/params.h"
#include "sim/cost/step_costs.h"
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

void cost_positions(const Scenario& scenario, Program& program) {
  const Parallelism& p = scenario.parallelism;
  for (Position& position : program.positions) {
    for (std::size_t c = 0; c < position.chunks.size(); ++c) {
      const RankParams params =
          rank_params(scenario.model, scenario.partition, std::span(position.stages).subspan(c, 1), p);
      position.chunks[c].dense_reduce = grad_reduce(scenario, params.dense, 0).duration;
      position.chunks[c].expert_reduce = grad_reduce(scenario, 0, params.expert).duration;
      position.chunks[c].param_gather = param_gather(scenario, params.dense, params.expert).duration;
    }
    const RankParams all = rank_params(scenario.model, scenario.partition, position.stages, p);
    position.optimizer = optimizer_step(scenario, all.dense, all.expert).duration;
  }
  program.tied_embedding_reduce = embedding_grad_reduce(scenario).duration;
  if (p.world_size == 1) return;
  // One number per rank: the latency of an all-reduce over the job.
  const CollectiveModel collectives(scenario.cluster, scenario.profile);
  program.norm_sync = collectives.time(Collective::all_reduce, span_of_first(scenario.cluster, p.world_size), Bytes{4});
}

} // namespace tessella
