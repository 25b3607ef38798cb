// Uniform pipelines, where every answer can be had with a pencil.
#include <doctest/doctest.h>

#include "sim/exec/lower.h"
#include "sim/exec/run.h"
#include "sim/schedule/table.h"

using namespace tessella;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000'000;

Scenario uniform(std::int64_t pp, std::int64_t vpp, std::int64_t dp, std::int64_t micro_batches, std::int64_t message) {
  Scenario s;
  s.parallelism.pp = pp;
  s.parallelism.vpp = vpp;
  s.parallelism.world_size = pp * dp;
  s.batch.global_batch_size = dp * micro_batches;
  ProfileEntry e;
  e.op = "uniform_stage";
  e.form = "uniform_stage";
  e.params = {{"forward", 1e-3}, {"backward", 2e-3}, {"message", static_cast<double>(message)}};
  s.profile.entries.push_back(e);
  s.cluster.nodes = pp * dp;
  s.cluster.node.gpus = 1;
  s.cluster.node.nics = 1;
  s.cluster.node.nic.bandwidth = {50e9};
  s.cluster.fabric.kind = FabricKind::fat_tree;
  s.cluster.fabric.nodes_per_leaf = pp * dp;
  return s;
}

RunRecords run(const Scenario& s, const char* schedule, const RunOptions& options = {}) {
  ScheduleSpec spec;
  spec.name = schedule;
  const Schedule order =
      make_schedule(spec, static_cast<std::int32_t>(s.parallelism.pp), static_cast<std::int32_t>(s.parallelism.vpp),
                    static_cast<std::int32_t>(s.num_micro_batches()));
  return run_program(lower_uniform(s, order), nullptr, true, options);
}

Duration bubble(const LedgerRow& row) {
  return row[Share::bubble_warmup] + row[Share::bubble_drain] + row[Share::bubble_dependency];
}

} // namespace

TEST_CASE("1F1B without communication: makespan (M+P-1)(F+B), bubble (P-1)(F+B) on every rank") {
  for (const std::int64_t p : {1, 2, 4, 7, 16})
    for (const std::int64_t m : {16, 17, 64}) {
      const RunRecords r = run(uniform(p, 1, 2, m, 0), "1f1b");
      CHECK(r.steps[0].makespan.ps == (m + p - 1) * 3 * kMillisecond);
      for (const LedgerRow& row : r.rank_rows) {
        CHECK(bubble(row).ps == (p - 1) * 3 * kMillisecond);
        CHECK(row[Share::compute].ps == m * 3 * kMillisecond);
      }
    }
}

TEST_CASE("Interleaved 1F1B: bubble (P-1)(F+B)/V") {
  for (const std::int64_t v : {2, 4, 5}) {
    const RunRecords r = run(uniform(8, v, 1, 32, 0), "interleaved_1f1b");
    for (const LedgerRow& row : r.rank_rows) CHECK(bubble(row).ps == 7 * 3 * kMillisecond / v);
  }
}

TEST_CASE("1F1B with 64 MiB messages at 50 GB/s, asynchronous: the exact answer") {
  // Replay with arrival = end + 64 MiB / 50 GB/s; four well-known tools disagree by 45 % on it.
  const RunRecords r = run(uniform(16, 1, 1, 64, 64 << 20), "1f1b");
  CHECK(r.steps[0].makespan.ps == 435'642'237'440);
}

TEST_CASE("Folding identical replicas changes nothing but the work") {
  RunOptions unfolded;
  unfolded.fold_identical_replicas = false;
  unfolded.threads = 2;
  const Scenario s = uniform(4, 1, 6, 9, 1 << 20);
  const RunRecords a = run(s, "1f1b");
  const RunRecords b = run(s, "1f1b", unfolded);
  CHECK(a.rank_rows == b.rank_rows);
  CHECK(a.steps[0].ledger_sum == b.steps[0].ledger_sum);
  CHECK(a.simulated_replicas == 1);
  CHECK(b.simulated_replicas == 6);
}
