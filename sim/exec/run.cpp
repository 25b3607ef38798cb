#include "sim/exec/run.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/engine/parallel.h"
#include "sim/exec/data_parallel.h"
#include "sim/exec/fill_plan.h"
#include "sim/exec/replica.h"

namespace tessella {
namespace {

// One row per global rank: position-major, then replica, then rank in the group. A folded run repeats its one replica.
std::vector<LedgerRow> rows_of(const Program& program, const std::vector<std::unique_ptr<Replica>>& replicas) {
  std::vector<LedgerRow> rows;
  const auto n = static_cast<std::size_t>(program.group_size);
  rows.reserve(static_cast<std::size_t>(program.replicas) * n * program.positions.size());
  for (std::size_t p = 0; p < program.positions.size(); ++p)
    for (std::int32_t r = 0; r < program.replicas; ++r) {
      const Group& g = replicas[static_cast<std::size_t>(r) % replicas.size()]->groups()[p];
      for (std::size_t i = 0; i < n; ++i) rows.push_back(g.row(i));
    }
  return rows;
}

// Of one step, from the sums of its replicas.
Duration slowest_stage(const Program& program, const std::vector<std::unique_ptr<Replica>>& replicas) {
  ReplicaSums sums;
  for (const auto& replica : replicas) sums += replica->sums();
  const std::int64_t runs = static_cast<std::int64_t>(replicas.size()) * program.group_size *
                            std::max<std::int64_t>(1, program.schedule.num_micro_batches);
  Duration most;
  for (std::size_t s = 0; s < sums.stage_forward.size(); ++s)
    most = max(most, sums.stage_forward[s] + sums.stage_backward[s]);
  return {most.ps / runs};
}

// Warm-up steps leave only what they cost and the memory they needed.
void add_sums(ReplicaSums& all, const ReplicaSums& step, bool counts) {
  if (counts)
    all += step;
  else
    all.keep_peaks(step);
}

bool only_first_replica(const Program& program, const TraceRequest& trace) {
  return std::all_of(trace.ranks.begin(), trace.ranks.end(),
                     [&](std::int32_t rank) { return rank / program.group_size % program.replicas == 0; });
}

} // namespace

RunRecords run_program(const Program& program, LoadSource* loads, bool loads_alike, const RunOptions& options) {
  const bool fold = options.fold_identical_replicas && loads_alike && program.kernel_jitter == 0.0 &&
                    program.fabric_jitter == 0.0 && only_first_replica(program, options.trace);
  RunRecords records;
  FillPlan plan;
  if (options.filler.on()) {
    if (loads) loads->prepare(options.first_step);
    plan = make_fill_plan(program, loads, options.first_step);
  }
  std::vector<std::unique_ptr<Replica>> replicas;
  for (std::int32_t r = 0; r < (fold ? 1 : program.replicas); ++r)
    replicas.push_back(std::make_unique<Replica>(program, loads, options.filler, plan));
  records.simulated_replicas = static_cast<std::int64_t>(replicas.size());
  const std::int64_t copies = program.replicas / records.simulated_replicas;

  std::vector<RunRecords> traces(replicas.size());
  for (std::int64_t done_steps = 0; done_steps < options.steps; ++done_steps) {
    const std::int64_t step = options.first_step + done_steps;
    if (loads) loads->prepare(step);
    const std::size_t done = parallel_for(
        replicas.size(), options.threads,
        [&](std::size_t r) {
          replicas[r]->run(step, static_cast<std::int32_t>(r), options.seed, &traces[r], options.trace);
        },
        options.stop);
    if (done < replicas.size()) {
      records.partial = true;
      break;
    }
    const Time makespan =
        finish_step(program, replicas, StepTracer(program, options.trace, step, traces.front().events));
    const std::vector<LedgerRow> rows = rows_of(program, replicas);
    LedgerRow sum;
    for (const LedgerRow& row : rows) {
      TSL_CHECK_OP(row.total().ps, ==, makespan.ps);
      sum += row;
    }
    records.steps.push_back({makespan - Time{}, sum, slowest_stage(program, replicas)});
    const bool counts = step >= options.warm_up;
    for (std::int64_t c = 0; c < copies; ++c)
      for (const auto& replica : replicas) add_sums(records.sums, replica->sums(), counts);
    if (!counts) ++records.warm_up;
    if (counts && records.rank_rows.empty()) records.rank_rows = rows;
    if (options.progress) options.progress(done_steps + 1, options.steps);
    if (options.enough && done_steps + 1 < options.steps && options.enough(records.steps)) {
      records.enough = true;
      break;
    }
  }
  for (RunRecords& t : traces) {
    records.events.insert(records.events.end(), t.events.begin(), t.events.end());
    records.flows.insert(records.flows.end(), t.flows.begin(), t.flows.end());
  }
  return records;
}

} // namespace tessella
