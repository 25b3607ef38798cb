#include "tests/support/report_sample.h"

namespace tessella::testing {
namespace {

constexpr std::int64_t kMs = 1'000'000'000; // picoseconds

LedgerRow row(std::int64_t warmup_ms, std::int64_t drain_ms, std::int64_t dependency_ms) {
  LedgerRow r;
  r[Share::compute] = {8 * kMs};
  r[Share::overlapped] = {2 * kMs};
  r[Share::exposed_ep] = {kMs};
  r[Share::imbalance] = {kMs / 2};
  r[Share::optimizer] = {kMs / 2};
  r[Share::bubble_warmup] = {warmup_ms * kMs};
  r[Share::bubble_drain] = {drain_ms * kMs};
  r[Share::bubble_dependency] = {dependency_ms * kMs};
  return r;
}

struct Drawn {
  std::int32_t rank;
  char kind;
  std::int32_t micro_batch;
  std::int64_t begin_ms;
};

// One rank of each pipeline position; stage = pipeline rank.
constexpr Drawn kDrawn[] = {
    {0, 'F', 0, 0},  {0, 'F', 1, 1},  {0, 'B', 0, 4},  {0, 'F', 2, 6},  {0, 'B', 1, 7}, {0, 'F', 3, 9},
    {0, 'B', 2, 10}, {0, 'B', 3, 13}, {4, 'F', 0, 1},  {4, 'B', 0, 2},  {4, 'F', 1, 4}, {4, 'B', 1, 5},
    {4, 'F', 2, 7},  {4, 'B', 2, 8},  {4, 'F', 3, 10}, {4, 'B', 3, 11},
};

void add_events(RunResult& r) {
  r.lanes = {"compute", "ep"};
  for (const Drawn& d : kDrawn) {
    const std::int64_t length = d.kind == 'F' ? kMs : 2 * kMs;
    const Time begin{d.begin_ms * kMs};
    const Time end = begin + Duration{length};
    const std::int32_t stage = d.rank / 4;
    r.events.push_back({d.rank, 0, 0, stage, d.micro_batch, d.kind, d.kind == 'F' ? "mlp" : "mlp_bwd", begin, end});
    // The message leaves within the last picosecond of its op, so that the sums above stay those of free messages.
    const bool sends = (d.rank == 0) == (d.kind == 'F'); // forward to rank 4, backward to rank 0
    if (!sends) continue;
    r.flows.push_back({d.rank, 4 - d.rank, 0, stage, d.micro_batch, d.kind, end - Duration{1}, end});
  }
}

} // namespace

Scenario sample_scenario() {
  Scenario s;
  s.name = "sample";
  s.model.name = "tiny_moe";
  s.model.hidden_size = 64;
  s.model.kinds = {{"moe", GroupedQueryAttention{}, MoeFfn{}}};
  s.model.layers = {0, 0, 0, 0};
  s.cluster.name = "one_node";
  s.cluster.nodes = 1;
  s.cluster.node.gpus = 8;
  s.profile.name = "h100_sxm/toy";
  s.profile.gpu.name = "h100_sxm";
  s.profile.gpu.bf16_peak = {989.4e12};
  s.parallelism = {.world_size = 8, .tp = 1, .cp = 1, .pp = 2, .vpp = 1, .ep = 2, .etp = 1};
  s.batch = {.micro_batch_size = 1, .global_batch_size = 16, .seq_length = 4096};
  s.partition.stages = {{.first_layer = 0, .num_layers = 2, .embedding = true},
                        {.first_layer = 2, .num_layers = 2, .loss = true}};
  s.inputs = {{"experiments/sample.yaml", "00ff"}, {"models/tiny_moe.yaml", "11ee"}};
  s.warnings = {"4 micro-batches for 2 pipeline ranks: a fifth of the step is bubble"};
  return s;
}

RunResult sample_result() {
  RunResult r;
  r.step_times = {{15 * kMs}};
  r.step_time = r.step_time_p05 = r.step_time_p95 = {15 * kMs};
  r.prediction = PredictionInterval{{12 * kMs}, {20 * kMs}, "moe", {0.08, 0.42, 73}, "runs.csv: step times"};
  for (int rank = 0; rank < 8; ++rank) r.rank_rows.push_back(rank < 4 ? row(0, 0, 3) : row(1, 2, 0));
  for (const LedgerRow& one : r.rank_rows) r.ledger_sum += one;
  r.ep_busy_sum = {8 * 3 * kMs};
  r.stages = {{{kMs}, {2 * kMs}}, {{kMs}, {2 * kMs}}};
  r.tokens_per_s_per_gpu = 16 * 4096 / 0.015 / 8;
  r.tflops_per_gpu = 412.34;
  r.mfu = 0.41676;
  r.hfu = 0.45;
  r.ep_hidden_fraction = 2.0 / 3.0;
  r.stage_imbalance = 0.0;
  r.load_imbalance_mean = 1.25;
  r.load_imbalance_max = 1.75;
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  r.memory.ranks = {{{10 * gib}, {20 * gib}, {12 * gib}, {8 * gib}, {gib}, 2.0},
                    {{11 * gib}, {22 * gib}, {13 * gib}, {4 * gib}, {3 * gib}, 1.0}};
  r.memory.capacity = {80 * gib};
  r.memory.peak_rank = 1;
  r.memory.assumptions = {"3 % of the peak is lost to fragmentation"};
  r.provenance = {0.0, 0.75, 0.25, 0.0};
  r.simulated_replicas = 1;
  r.warnings = {"the router's cost is assumed"};
  r.sim = {.wall_s = 0.012, .events = 1234, .rank_ops = 987654, .peak_rss_bytes = gib / 2};
  add_events(r);
  return r;
}

} // namespace tessella::testing
