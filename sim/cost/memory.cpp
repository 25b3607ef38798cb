#include "sim/cost/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/domain/workload_shape.h"

namespace tessella {
namespace {

constexpr double kWeight = 2.0;
constexpr double kGradient = 4.0;
constexpr double kAdam = 12.0;
constexpr double kFp8Copies = 2.0;

double d(std::int64_t x) {
  return static_cast<double>(x);
}

Bytes bytes(double x) {
  TSL_CHECK_OP(x, >=, 0.0);
  TSL_CHECK_OP(x, <, 9.2e18);
  return {static_cast<std::int64_t>(std::llround(x))};
}

ActivationShape shape_of(const Scenario& s, const MemoryAssumptions& assume) {
  ActivationShape shape;
  shape.tokens = s.tokens_per_tp_group();
  shape.tp = s.parallelism.tp;
  shape.etp = s.parallelism.etp;
  shape.sequence_parallel = s.parallelism.sequence_parallel;
  shape.precision = s.precision;
  shape.probs_before_fc2 = assume.probs_before_fc2;
  shape.hot_load = assume.hot_load;
  return shape;
}

double rank_tokens(const ActivationShape& shape) {
  return shape.sequence_parallel ? d(shape.tokens) / d(shape.tp) : d(shape.tokens);
}

// Permuted tokens on their way out and coming back, bf16. Dispatchers that remove duplicates hold as many rows on the
// receiving side; an all-gather holds every token of the EP group instead of the routed ones.
double dispatch_bytes(const Model& model, const MoeFfn& moe, const ActivationShape& shape, const Scenario& s) {
  const double rows = s.dispatcher == Dispatcher::allgather ? rank_tokens(shape) * d(s.parallelism.ep)
                                                            : rank_tokens(shape) * d(moe.router_topk) * shape.hot_load;
  return 2.0 * 2.0 * rows * d(expert_input_size(model.hidden_size, moe));
}

// Gradients alive inside one layer's backward: of the FFN's (without one: the mixer's) first output, and of its input.
double gradient_bytes(const Model& model, const LayerKind& kind, const ActivationShape& shape) {
  const double h = d(model.hidden_size);
  if (const MoeFfn* moe = moe_of(kind)) {
    const double rows = rank_tokens(shape) * d(moe->router_topk) * shape.hot_load;
    return 2.0 * rows *
           ((moe->gated ? 2.0 : 1.0) * d(moe->moe_ffn_hidden_size) + d(expert_input_size(model.hidden_size, *moe)));
  }
  if (const auto* f = std::get_if<DenseFfn>(&kind.ffn))
    return 2.0 * d(shape.tokens) * ((f->gated ? 2.0 : 1.0) * d(f->ffn_hidden_size) / d(shape.tp) + h);
  const auto* mamba = std::get_if<Mamba2>(&kind.attention); // of its input projection
  return 2.0 * d(shape.tokens) * ((mamba == nullptr ? 0.0 : d(mamba->in_proj_size()) / d(shape.tp)) + h);
}

// The largest working set of any layer kind this rank runs.
double layer_workspace(const Scenario& s, const std::vector<std::int32_t>& stages, const ActivationShape& shape) {
  const Model& model = s.model;
  std::vector<bool> used(model.kinds.size(), false);
  for (const std::int32_t stage : stages) {
    const StageContent& c = s.partition.stages[static_cast<std::size_t>(stage)];
    for (std::int32_t i = 0; i < c.num_layers; ++i)
      used[static_cast<std::size_t>(model.layers[static_cast<std::size_t>(c.first_layer + i)])] = true;
    if (c.mtp_layers > 0) used[static_cast<std::size_t>(model.mtp_kind)] = true;
  }
  double largest = 0.0;
  for (std::size_t k = 0; k < used.size(); ++k) {
    if (!used[k]) continue;
    const LayerKind& kind = model.kinds[k];
    double sum = gradient_bytes(model, kind, shape);
    if (const MoeFfn* moe = moe_of(kind)) sum += dispatch_bytes(model, *moe, shape, s);
    sum += kept_bytes(model.hidden_size, kind, shape, Recompute{}) -
           kept_bytes(model.hidden_size, kind, shape, s.recompute); // rebuilt for one layer at a time
    largest = std::max(largest, sum);
  }
  return largest;
}

std::vector<std::vector<std::int32_t>> stages_by_rank(const Schedule& schedule) {
  std::vector<std::vector<std::int32_t>> held(static_cast<std::size_t>(schedule.num_ranks));
  for (std::size_t stage = 0; stage < schedule.stage_ranks.size(); ++stage)
    for (const PpRank rank : schedule.stage_ranks[stage])
      held[static_cast<std::size_t>(rank.value)].push_back(static_cast<std::int32_t>(stage));
  return held;
}

RankMemory rank_memory(const Scenario& s, const Schedule& schedule, std::size_t rank,
                       const std::vector<std::int32_t>& held, const std::vector<StageActivation>& stages,
                       const MemoryAssumptions& assume) {
  const ActivationShape shape = shape_of(s, assume);
  RankMemory m = model_state(held_params(s, s.partition, held), s.parallelism, s.optimizer, s.precision);
  const LivePeak live = peak_live(schedule.ranks[rank], stages);
  const double boundary = 2.0 * rank_tokens(shape) * d(s.model.hidden_size);
  const double working = layer_workspace(s, held, shape) + (s.parallelism.pp > 1 ? 4.0 * boundary : 0.0);
  m.activations = bytes(live.bytes);
  m.in_flight_chunks = d(live.chunks);
  m.buffers = bytes(working + (assume.fragmentation - 1.0) * (live.bytes + working)) + assume.context;
  return m;
}

std::vector<std::string> statements(const MemoryAssumptions& a) {
  return {
      fmt::format("allocator fragmentation {:g} on activations and buffers (assumed)", a.fragmentation),
      fmt::format("CUDA context and NCCL buffers {:.1f} GiB (assumed)", d(a.context.count) / d(1 << 30)),
      fmt::format("hottest expert rank holds {:g} times the mean of expert activations", a.hot_load),
      std::string("router probabilities applied ") + (a.probs_before_fc2 ? "before" : "after") +
          " the second expert GEMM",
      "unfused cross-entropy: bf16 logits and fp32 softmax live from F to B of the loss stage",
  };
}

} // namespace

RankMemory model_state(const RankParams& params, const Parallelism& p, const Optimizer& optimizer,
                       Precision precision) {
  const double all = d(params.dense) + d(params.expert) + d(params.replica);
  RankMemory m;
  double weights = kWeight * all;
  if (precision == Precision::fp8) weights += kFp8Copies * (all - d(params.vocabulary));
  m.weights = bytes(weights);
  m.gradients = bytes(kGradient * all);
  const double dense_shards = optimizer.distributed ? d(p.dp() * p.cp) : 1.0;
  const double expert_shards = optimizer.distributed ? d(p.edp()) : 1.0;
  if (!optimizer.offload)
    m.optimizer = bytes(kAdam * (d(params.dense) / dense_shards + d(params.expert) / expert_shards));
  return m;
}

LivePeak peak_live(std::span<const Slot> slots, std::span<const StageActivation> stages) {
  LivePeak peak;
  double live = 0.0;
  std::int64_t chunks = 0;
  const auto begin = [&](const Action& a) {
    if (a.kind != ActionKind::F) return;
    const StageActivation& stage = stages[static_cast<std::size_t>(a.stage.value)];
    live += stage.kept + stage.loss;
    ++chunks;
  };
  const auto end = [&](const Action& a) {
    const StageActivation& stage = stages[static_cast<std::size_t>(a.stage.value)];
    if (a.kind == ActionKind::B || a.kind == ActionKind::I) live -= stage.loss;
    if (a.kind == ActionKind::B || a.kind == ActionKind::W) {
      live -= stage.kept;
      --chunks;
    }
  };
  for (const Slot& slot : slots) {
    begin(slot.first);
    if (slot.second) begin(*slot.second);
    if (live > peak.bytes) peak = {live, chunks};
    end(slot.first);
    if (slot.second) end(*slot.second);
  }
  return peak;
}

RankParams held_params(const Scenario& s, const Partition& partition, std::span<const std::int32_t> stages) {
  const RankParams own = rank_params(s.model, partition, stages, s.parallelism);
  const std::int64_t replicas = reserved_replicas(s);
  if (replicas == 0) return own;
  return with_replicas(own, replicas, workload_shape(s.model, s.parallelism, s.batch).experts_per_rank());
}

MemoryReport memory_report(const Scenario& scenario, const Schedule& schedule, const MemoryAssumptions& given) {
  MemoryAssumptions assume = given;
  assume.hot_load = std::max(assume.hot_load, padded_load(scenario));
  TSL_CHECK_OP(scenario.partition.stages.size(), ==, schedule.stage_ranks.size());
  const ActivationShape shape = shape_of(scenario, assume);
  std::vector<StageActivation> stages;
  for (const StageContent& content : scenario.partition.stages)
    stages.push_back(stage_activation(scenario.model, content, shape, scenario.recompute));

  const std::vector<std::vector<std::int32_t>> held = stages_by_rank(schedule);
  MemoryReport report;
  report.capacity = scenario.profile.gpu.memory;
  for (std::size_t rank = 0; rank < held.size(); ++rank)
    report.ranks.push_back(rank_memory(scenario, schedule, rank, held[rank], stages, assume));
  const auto highest = std::max_element(report.ranks.begin(), report.ranks.end(),
                                        [](const RankMemory& a, const RankMemory& b) { return a.peak() < b.peak(); });
  report.peak_rank = static_cast<std::int32_t>(highest - report.ranks.begin());
  report.fits = highest->peak() <= report.capacity;
  report.assumptions = statements(assume);
  return report;
}

} // namespace tessella
