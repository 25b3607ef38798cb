#include "sim/exec/positions.h"

#include "sim/exec/owners.h"

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

} // namespace tessella
