#include "sim/domain/workload_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessella {
namespace {

// A larger spread would send all tokens to one expert; it can only be a slip of the decimal point.
constexpr double kMaxSigma = 4.0;

class Checker {
 public:
  Checker(const RoutingSpec& spec, const WorkloadShape& shape) : spec_(spec), shape_(shape) {}

  std::vector<RoutingProblem> run() {
    check_shape();
    if (!problems_.empty()) return std::move(problems_);
    check_placement();
    check_capacity();
    switch (spec_.kind) {
    case RoutingKind::balanced:
      break;
    case RoutingKind::generator:
      check_generator();
      break;
    case RoutingKind::loads:
      check_loads();
      break;
    case RoutingKind::trace:
      check_trace();
      break;
    }
    return std::move(problems_);
  }

 private:
  void problem(std::string key, std::string message) { problems_.push_back({std::move(key), std::move(message)}); }

  void check_shape() {
    const WorkloadShape& s = shape_;
    if (s.layers < 1 || s.num_experts < 1 || s.router_topk < 1 || s.ep < 1 || s.tokens_per_rank < 1 || s.steps < 1) {
      problem("routing",
              fmt::format("routing needs at least 1 of each: {} MoE layers, {} experts, top-{}, {} EP ranks, "
                          "{} tokens per rank, {} steps",
                          s.layers, s.num_experts, s.router_topk, s.ep, s.tokens_per_rank, s.steps));
      return;
    }
    if (s.num_experts % s.ep != 0)
      problem("parallelism.expert_model_parallel_size",
              fmt::format("num_experts {} is not a multiple of expert_model_parallel_size {}", s.num_experts, s.ep));
    const double rows =
        static_cast<double>(s.ep) * static_cast<double>(s.tokens_per_rank) * static_cast<double>(s.router_topk);
    if (rows > static_cast<double>(kMaxRows))
      problem("batch.micro_batch_size",
              fmt::format("an EP group routes {:.0f} rows per layer and micro-batch, the limit is {}", rows, kMaxRows));
  }

  void check_generator() {
    for (const auto& [key, sigma] :
         {std::pair{"static_sigma", spec_.static_sigma}, std::pair{"drift_sigma", spec_.drift_sigma},
          std::pair{"noise_sigma", spec_.noise_sigma}})
      if (!(sigma >= 0.0 && sigma <= kMaxSigma))
        problem(fmt::format("routing.{}", key),
                fmt::format("{} is {}, it must be between 0 and {}", key, sigma, kMaxSigma));
    if (!(spec_.drift_phi >= 0.0 && spec_.drift_phi < 1.0))
      problem("routing.drift_phi",
              fmt::format("drift_phi is {}, it must be at least 0 and less than 1", spec_.drift_phi));
  }

  // Every layer holds every expert at least once, in as many slots on every rank and layer.
  void check_placement() {
    if (spec_.expert_at.empty()) return;
    const auto layers = static_cast<std::int64_t>(spec_.expert_at.size());
    if (layers != shape_.layers) {
      problem("routing.expert_at",
              fmt::format("experts are placed in {} layers, the model has {} MoE layers", layers, shape_.layers));
      return;
    }
    const std::size_t slots = spec_.expert_at.front().size();
    for (std::size_t layer = 0; layer < spec_.expert_at.size(); ++layer) {
      const std::vector<std::int32_t>& held = spec_.expert_at[layer];
      if (held.size() != slots || static_cast<std::int64_t>(slots) % shape_.ep != 0) {
        problem("routing.expert_at",
                fmt::format("MoE layer {} has {} slots; every layer needs the same multiple of the {} EP ranks", layer,
                            held.size(), shape_.ep));
        return;
      }
      if (holds_every_expert(held)) continue;
      problem("routing.expert_at", fmt::format("the {} slots of MoE layer {} do not hold each of {} experts",
                                               held.size(), layer, shape_.num_experts));
      return;
    }
  }

  bool holds_every_expert(const std::vector<std::int32_t>& held) const {
    std::vector<bool> seen(static_cast<std::size_t>(shape_.num_experts), false);
    for (const std::int32_t e : held) {
      if (e < 0 || e >= shape_.num_experts) return false;
      seen[static_cast<std::size_t>(e)] = true;
    }
    return std::find(seen.begin(), seen.end(), false) == seen.end();
  }

  void check_capacity() {
    if (spec_.pad_to_capacity && !spec_.capacity_factor)
      problem("routing.pad_to_capacity", "without capacity_factor there is no capacity to pad to");
    const auto capacity = expert_capacity(spec_, shape_);
    if (!capacity) return;
    if (shape_.ep == 1 && !spec_.pad_to_capacity)
      problem("routing.capacity_factor",
              "with expert_model_parallel_size 1 loads are not drawn, so nothing would be dropped; only "
              "pad_to_capacity makes a difference");
    const double rows = static_cast<double>(*capacity) * static_cast<double>(shape_.num_experts);
    if (rows > static_cast<double>(kMaxRows))
      problem("routing.capacity_factor",
              fmt::format("the experts of an EP group would accept {:.0f} rows, the limit is {}", rows, kMaxRows));
  }

  bool is_per_rank_or_expert(std::int64_t columns) const {
    return columns == shape_.ep || columns == shape_.num_experts;
  }

  void check_loads() {
    const auto size = static_cast<std::int64_t>(spec_.loads.size());
    if (!is_per_rank_or_expert(size))
      problem("routing.loads", fmt::format("{} loads; give one per EP rank ({}) or one per expert ({})", size,
                                           shape_.ep, shape_.num_experts));
    double sum = 0.0;
    for (std::size_t i = 0; i < spec_.loads.size(); ++i) {
      const double load = spec_.loads[i];
      sum += load;
      if (std::isfinite(load) && load >= 0.0) continue;
      problem("routing.loads", fmt::format("load {} is {}; a load cannot be negative or infinite", i, load));
      return;
    }
    if (!(sum > 0.0) || !std::isfinite(sum)) problem("routing.loads", fmt::format("the loads sum to {}", sum));
  }

  void check_trace() {
    const RoutingTrace& t = spec_.trace;
    if (!is_per_rank_or_expert(t.columns))
      problem("routing.trace_file",
              fmt::format("the trace has {} ranks; it needs the {} EP ranks or the {} experts of the "
                          "plan",
                          t.columns, shape_.ep, shape_.num_experts));
    if (t.layers != 1 && t.layers != shape_.layers)
      problem("routing.trace_file",
              fmt::format("the trace has {} layers; it needs the {} MoE layers of the model, or 1 for "
                          "all of them",
                          t.layers, shape_.layers));
    if (t.iterations < shape_.steps)
      problem("routing.trace_file",
              fmt::format("the trace has {} iterations, the simulation {} steps; give at most {} steps", t.iterations,
                          shape_.steps, t.iterations));
  }

  const RoutingSpec& spec_;
  const WorkloadShape& shape_;
  std::vector<RoutingProblem> problems_;
};

} // namespace

std::vector<std::int64_t> moe_layers(const Model& model) {
  std::vector<std::int64_t> layers;
  for (std::int64_t i = 0; i < model.num_layers(); ++i)
    if (moe_of(model.layer(i)) != nullptr) layers.push_back(i);
  for (std::int64_t i = 0; i < model.mtp_num_layers; ++i)
    if (moe_of(model.mtp_layer()) != nullptr) layers.push_back(model.num_layers() + i);
  return layers;
}

WorkloadShape workload_shape(const Model& model, const Parallelism& p, const Batch& batch, std::int64_t steps) {
  const std::vector<std::int64_t> layers = moe_layers(model);
  if (layers.empty()) return {};
  const LayerKind& kind = layers[0] < model.num_layers() ? model.layer(layers[0]) : model.mtp_layer();
  const MoeFfn& moe = *moe_of(kind);
  WorkloadShape shape;
  shape.layers = static_cast<std::int64_t>(layers.size());
  shape.num_experts = moe.num_experts;
  shape.router_topk = moe.router_topk;
  shape.ep = p.ep;
  shape.tokens_per_rank = batch.micro_batch_size * batch.seq_length / (p.cp * p.tp);
  shape.steps = steps;
  return shape;
}

std::optional<std::int64_t> expert_capacity(const RoutingSpec& spec, const WorkloadShape& shape) {
  if (!spec.capacity_factor) return std::nullopt;
  const double even = static_cast<double>(shape.tokens_per_rank * shape.router_topk);
  const double of_rank = std::ceil(even * *spec.capacity_factor / static_cast<double>(shape.num_experts));
  return shape.ep * std::max<std::int64_t>(1, static_cast<std::int64_t>(of_rank));
}

double padded_load(const Scenario& s) {
  if (!s.routing.pad_to_capacity || !s.routing.capacity_factor || !s.model.has_moe()) return 1.0;
  const WorkloadShape shape = workload_shape(s.model, s.parallelism, s.batch);
  return static_cast<double>(*expert_capacity(s.routing, shape) * shape.num_experts) /
         static_cast<double>(shape.rows());
}

std::int64_t placed_replicas(const Scenario& s) {
  if (s.routing.expert_at.empty()) return 0;
  const WorkloadShape shape = workload_shape(s.model, s.parallelism, s.batch);
  return static_cast<std::int64_t>(s.routing.expert_at.front().size()) / shape.ep - shape.experts_per_rank();
}

std::int64_t reserved_replicas(const Scenario& s) {
  const std::int64_t placed = placed_replicas(s);
  const ExpertMigrationSpec& x = s.expert_migration;
  return x.method == MigrationMethod::replicate ? std::max(placed, x.redundant) : placed;
}

std::vector<RoutingProblem> check_routing(const RoutingSpec& spec, const WorkloadShape& shape) {
  return Checker(spec, shape).run();
}

} // namespace tessella
