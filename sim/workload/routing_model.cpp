#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "sim/base/check.h"
#include "sim/workload/apportion.h"
#include "sim/workload/loads.h"

namespace tessella {

RoutingModel::RoutingModel(RoutingSpec spec, WorkloadShape shape, std::uint64_t seed)
    : spec_(std::move(spec)), spreads_(spreads_of(spec_)), shape_(shape), seed_(seed) {
  TSL_CHECK(check_routing(spec_, shape_).empty());
  if (!drawn()) return;
  static_.resize(static_cast<std::size_t>(shape_.layers * shape_.num_experts));
  const auto experts = static_cast<std::size_t>(shape_.num_experts);
  for (std::size_t i = 0; i < static_.size(); ++i)
    static_[i] = spreads_.experts * Stream(seed_, Purpose::routing_static, i / experts).normal(i % experts);
}

// x_t = phi x_{t-1} + sqrt(1 - phi^2) sigma e_t from a stationary x_0.
void RoutingModel::advance_drift(std::vector<double>& drift, std::int64_t step) const {
  const auto experts = static_cast<std::uint64_t>(shape_.num_experts);
  const double phi = step == 0 ? 0.0 : spec_.drift_phi;
  const double innovation = std::sqrt(1.0 - phi * phi) * spreads_.steps;
  for (std::uint64_t layer = 0; layer < static_cast<std::uint64_t>(shape_.layers); ++layer) {
    const Stream stream = Stream(seed_, Purpose::routing_drift, layer).substream(static_cast<std::uint64_t>(step));
    for (std::uint64_t e = 0; e < experts; ++e) {
      double& x = drift[layer * experts + e];
      x = phi * x + innovation * stream.normal(e);
    }
  }
}

StepRouting RoutingModel::prepare(std::int64_t step) const {
  TSL_CHECK(step >= 0 && step < shape_.steps);
  std::vector<double> drift;
  if (drawn()) {
    drift.resize(static_.size());
    for (std::int64_t s = 0; s <= step; ++s) advance_drift(drift, s);
  }
  return finish(step, std::move(drift));
}

StepRouting RoutingModel::next(const StepRouting& before) const {
  const std::int64_t step = before.step() + 1;
  TSL_CHECK_OP(step, <, shape_.steps);
  std::vector<double> drift = before.drift_;
  if (drawn()) advance_drift(drift, step);
  return finish(step, std::move(drift));
}

StepRouting RoutingModel::finish(std::int64_t step, std::vector<double> drift) const {
  StepRouting out;
  out.step_ = step;
  out.shape_ = shape_;
  out.drift_ = std::move(drift);
  out.expert_at_ = spec_.expert_at;
  out.capacity_ = expert_capacity(spec_, shape_);
  out.padded_ = spec_.pad_to_capacity;
  out.shares_.resize(static_cast<std::size_t>(shape_.layers * shape_.num_experts));
  if (drawn())
    fill_generator(out);
  else
    fill_fixed(out);
  return out;
}

StepRouting::RankTerm StepRouting::rank_term(std::span<const double> shares) const {
  const auto rows = static_cast<double>(shape_.rows());
  const double mean = std::accumulate(shares.begin(), shares.end(), 0.0);
  const double squares = std::inner_product(shares.begin(), shares.end(), shares.begin(), 0.0);
  const double variance =
      std::log1p(std::expm1(noise_sigma_ * noise_sigma_) * squares / (mean * mean) + 1.0 / (mean * rows));
  return {static_cast<float>((std::log(mean * rows) - 0.5 * variance) * std::numbers::log2e),
          static_cast<float>(std::sqrt(variance) * std::numbers::log2e)};
}

std::vector<double> StepRouting::slot_shares(std::size_t layer) const {
  const std::span<const double> share = expert_shares(static_cast<std::int64_t>(layer));
  if (!placed(layer)) return {share.begin(), share.end()};
  std::vector<double> replicas(share.size(), 0.0);
  for (const std::int32_t e : expert_at_[layer]) replicas[static_cast<std::size_t>(e)] += 1.0;
  std::vector<double> held;
  for (const std::int32_t expert : expert_at_[layer]) {
    const auto e = static_cast<std::size_t>(expert);
    held.push_back(share[e] / replicas[e]);
  }
  return held;
}

void StepRouting::set_rank_terms(std::size_t layer) {
  const auto ranks = static_cast<std::size_t>(shape_.ep);
  const std::vector<double> held = slot_shares(layer);
  const std::size_t per_rank = held.size() / ranks;
  for (std::size_t r = 0; r < ranks; ++r)
    rank_terms_[layer * ranks + r] = rank_term(std::span(held).subspan(r * per_rank, per_rank));
}

void StepRouting::place(std::int64_t layer, std::span<const std::int32_t> expert_at) {
  TSL_CHECK(drawn_);
  TSL_CHECK_OP(expert_at.size() % static_cast<std::size_t>(shape_.ep), ==, 0U);
  const auto at = static_cast<std::size_t>(layer);
  expert_at_.resize(static_cast<std::size_t>(shape_.layers));
  expert_at_[at].assign(expert_at.begin(), expert_at.end());
  set_rank_terms(at);
}

void RoutingModel::fill_generator(StepRouting& out) const {
  out.drawn_ = true;
  out.noise_sigma_ = spreads_.micro_batches;
  out.noise_ = Stream(seed_, Purpose::routing_noise, static_cast<std::uint64_t>(out.step_));
  out.tokens_ = Stream(seed_, Purpose::routing_tokens, static_cast<std::uint64_t>(out.step_));
  const auto experts = static_cast<std::size_t>(shape_.num_experts);
  out.rank_terms_.resize(static_cast<std::size_t>(shape_.layers * shape_.ep));
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(shape_.layers); ++layer) {
    const std::span share = std::span(out.shares_).subspan(layer * experts, experts);
    for (std::size_t e = 0; e < experts; ++e)
      share[e] = std::exp(static_[layer * experts + e] + out.drift_[layer * experts + e]);
    const double sum = std::accumulate(share.begin(), share.end(), 0.0);
    for (double& s : share) s /= sum;
    out.set_rank_terms(layer);
    if (out.capacity_)
      for (std::size_t e = 0; e < experts; ++e) out.expert_terms_.push_back(out.rank_term(share.subspan(e, 1)));
  }
}

// Balanced, loads, trace: the same rows for every micro-batch. First over ranks, so that equal loads are exactly equal.
void RoutingModel::fill_fixed(StepRouting& out) const {
  const auto experts = static_cast<std::size_t>(shape_.num_experts);
  const auto ranks = static_cast<std::size_t>(shape_.ep);
  const std::size_t per_rank = experts / ranks;
  out.rank_rows_.resize(static_cast<std::size_t>(shape_.layers) * ranks);
  out.dropped_rows_.assign(static_cast<std::size_t>(shape_.layers), 0);
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(shape_.layers); ++layer) {
    std::vector<double> weights(ranks, 1.0);
    if (spec_.kind == RoutingKind::loads) {
      weights = spec_.loads;
    } else if (spec_.kind == RoutingKind::trace) {
      const auto row = spec_.trace.row(out.step_, spec_.trace.layers == 1 ? 0 : static_cast<std::int64_t>(layer));
      weights.assign(row.begin(), row.end());
    }
    const std::size_t columns = weights.size(); // ranks or experts
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<double> rank_weights(ranks, 0.0);
    for (std::size_t c = 0; c < columns; ++c) rank_weights[c / (columns / ranks)] += weights[c];
    for (std::size_t e = 0; e < experts; ++e)
      out.shares_[layer * experts + e] =
          columns == experts ? weights[e] / sum : weights[e / per_rank] / sum / static_cast<double>(per_rank);
    if (!spec_.expert_at.empty()) {
      rank_weights.assign(ranks, 0.0);
      const std::vector<double> held = out.slot_shares(layer);
      for (std::size_t slot = 0; slot < held.size(); ++slot) rank_weights[slot * ranks / held.size()] += held[slot];
    }
    const std::span rank_rows = std::span(out.rank_rows_).subspan(layer * ranks, ranks);
    apportion(shape_.rows(), rank_weights, rank_rows);
    if (!out.capacity_) continue;
    std::vector<std::int32_t> rows(experts);
    out.expert_loads(static_cast<std::int64_t>(layer), 0, 0, rows);
    out.dropped_rows_[layer] = out.fill_to_capacity(layer, rows, rank_rows).dropped;
  }
}

} // namespace tessella
