#include "sim/planner/what_if.h"

#include "sim/engine/parallel.h"
#include "sim/planner/simulate.h"
#include "sim/schedule/table.h"

namespace tessella {
namespace {

constexpr double kMore = 1.1;

struct Trial {
  std::string change;
  Scenario scenario;
  std::int64_t steps = 1; // the time is divided by it
};

void faster_fabric(Cluster& c) {
  c.node.nic.bandwidth = c.node.nic.bandwidth * kMore;
  c.fabric.leaf_to_spine.bandwidth = c.fabric.leaf_to_spine.bandwidth * kMore;
  c.fabric.local_link.bandwidth = c.fabric.local_link.bandwidth * kMore;
  c.fabric.global_link.bandwidth = c.fabric.global_link.bandwidth * kMore;
}

bool legal(const Scenario& s) {
  return !check_schedule_spec(s.schedule, static_cast<std::int32_t>(s.parallelism.pp),
                              static_cast<std::int32_t>(s.parallelism.vpp),
                              static_cast<std::int32_t>(s.num_micro_batches()));
}

} // namespace

std::vector<PlanWhatIf> what_ifs(const Scenario& scenario, const Partition& partition, unsigned threads) {
  Scenario base = scenario;
  base.partition = partition;
  std::vector<Trial> trials = {{"NICs and fabric links 10 % faster", base},
                               {"scale-up links 10 % faster", base},
                               {"twice the micro-batches, time per former step", base, 2}};
  faster_fabric(trials[0].scenario.cluster);
  Link& scale_up = trials[1].scenario.cluster.node.scale_up;
  scale_up.bandwidth = scale_up.bandwidth * kMore;
  trials[2].scenario.batch.global_batch_size *= 2;
  if (!legal(trials[2].scenario)) trials.pop_back();
  std::vector<PlanWhatIf> results(trials.size());
  parallel_for(trials.size(), threads, [&](std::size_t i) {
    const Duration step = simulate(trials[i].scenario, {}).step_time;
    results[i] = {trials[i].change, {step.ps / trials[i].steps}};
  });
  return results;
}

} // namespace tessella
