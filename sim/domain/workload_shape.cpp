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

  // Every layer holds every expert once.
  void check_placement() {
    if (spec_.expert_at.empty()) return;
    const auto layers = static_cast<std::int64_t>(spec_.expert_at.size());
    if (layers != shape_.layers) {
      problem("routing.expert_at",
              fmt::format("experts are placed in {} layers, the model has {} MoE layers", layers, shape_.layers));
      return;
    }
    for (std::size_t layer = 0; layer < spec_.expert_at.size(); ++layer) {
      std::vector<std::int32_t> sorted = spec_.expert_at[layer];
      std::sort(sorted.begin(), sorted.end());
      bool whole = static_cast<std::int64_t>(sorted.size()) == shape_.num_experts;
      for (std::size_t e = 0; whole && e < sorted.size(); ++e) whole = sorted[e] == static_cast<std::int32_t>(e);
      if (whole) continue;
      problem("routing.expert_at", fmt::format("the {} slots of MoE layer {} do not hold each of {} experts once",
                                               sorted.size(), layer, shape_.num_experts));
      return;
    }
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
              fmt::format("the trace has {} iterations, the simulation {} steps", t.iterations, shape_.steps));
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

std::vector<RoutingProblem> check_routing(const RoutingSpec& spec, const WorkloadShape& shape) {
  return Checker(spec, shape).run();
}

} // namespace tessella
